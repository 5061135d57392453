//! One process of a launched program: exchanges bytes through the launcher's rendezvous, and starts
//! two domains.
//!
//! Arguments: with `absent=RANK`, this rank does not join and waits to be killed; `seconds=N` is
//! the timeout.

mod all_gather;

use std::time::Duration;

use all_gather::{domain, exchanges};
use anyhow::{Result, ensure};
use urom_host::DocaError;
use urom_host::gather::Rendezvous;

fn main() -> Result<()> {
    let value =
        |name: &str| std::env::args().find_map(|word| Some(word.strip_prefix(name)?.to_owned()));
    let seconds = value("seconds=").and_then(|seconds| seconds.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(60));
    println!("process {}", std::process::id());
    if value("absent=").is_some_and(|rank| std::env::var("PMIX_RANK").ok() == Some(rank)) {
        loop {
            std::thread::park();
        }
    }
    for _ in 0..2 {
        let mut gather = Rendezvous::from_environment(limit)?;
        exchanges(&mut gather, 1 << 20)?;
        domain(gather)?;
        forked_child_ends()?;
    }
    println!("launched: ok");
    Ok(())
}

/// A forked child cannot use PMIx, and its exit does not affect the parent's connection to the
/// launcher.
fn forked_child_ends() -> Result<()> {
    // SAFETY: the child does not take a lock that another thread of this process may hold.
    match unsafe { libc::fork() } {
        0 => {
            let error = Rendezvous::by_pmix(Duration::from_secs(20)).err();
            let refused = error.is_some_and(|error| error.code() == DocaError::BAD_STATE);
            std::process::exit(i32::from(!refused))
        }
        child => {
            let mut status = -1;
            // SAFETY: a child of this process, and a local variable.
            ensure!(unsafe { libc::waitpid(child, &mut status, 0) } == child, "no child");
            ensure!(status == 0, "PMIx is not refused in a forked child");
        }
    }
    Ok(())
}
