//! A rig's inputs before the failing one. A rig keeps its state between inputs, so the last one
//! alone may not reproduce a failure.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::{env, fs, panic, process};

const MOST: usize = 64;

/// The output directory, set by `cargo xtask fuzz`.
const VARIABLE: &str = "UROM_FUZZ_FAILURES";

thread_local! {
    static RECENT: RefCell<VecDeque<Vec<u8>>> = const { RefCell::new(VecDeque::new()) };
}

pub fn note(input: &[u8]) {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        if let Some(directory) = env::var_os(VARIABLE) {
            write_on_panic(directory.into());
        }
    });
    RECENT.with_borrow_mut(|recent| {
        let mut buffer =
            if recent.len() == MOST { recent.pop_front() } else { None }.unwrap_or_default();
        buffer.clear();
        buffer.extend_from_slice(input);
        recent.push_back(buffer);
    });
}

/// Forgets all but the last input: the rig was made anew for it.
pub fn forget() {
    RECENT.with_borrow_mut(|recent| recent.drain(..recent.len().saturating_sub(1)).for_each(drop));
}

/// libFuzzer's own panic hook ends the process, so the inputs must be written before.
fn write_on_panic(directory: PathBuf) {
    let before = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        let directory = directory.join(format!("failure-{}", process::id()));
        match write(&directory, &panic.to_string()) {
            Ok(()) => eprintln!("the inputs before it are in {}", directory.display()),
            Err(error) => eprintln!("the inputs before it could not be written: {error}"),
        }
        before(panic);
    }));
}

fn write(directory: &Path, message: &str) -> std::io::Result<()> {
    fs::create_dir_all(directory)?;
    fs::write(directory.join("said.txt"), message)?;
    // A panic in here would end the process silently.
    RECENT.with(|recent| {
        let recent = recent.try_borrow().map_err(std::io::Error::other)?;
        recent
            .iter()
            .enumerate()
            .try_for_each(|(at, input)| fs::write(directory.join(format!("{at:02}")), input))
    })
}
