//! Connects an example's two processes: by a launcher, or manually.

use std::cell::RefCell;
use std::env;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow, bail};
use clap::{Args, value_parser};
use tracing::info;
use urom_host::DocaError;
use urom_host::gather::{AllGather, Rendezvous};

const PROCESSES: u32 = 2;
const LIMIT: Duration = Duration::from_secs(30);

/// The meeting point of two processes without a launcher. Programs flatten it into their options.
#[derive(Debug, Args)]
pub struct Meeting {
    /// Connects the processes here instead of by the launcher: rank 0 listens, rank 1 connects.
    #[arg(long, value_name = "HOST:PORT", requires = "rank")]
    rendezvous: Option<String>,

    /// The rank of this process, with --rendezvous: 0 answers, 1 begins and measures.
    #[arg(long, value_name = "0|1", requires = "rendezvous", value_parser = value_parser!(u32).range(0..=1))]
    rank: Option<u32>,
}

/// The all-gather of the two processes.
pub type SharedGather = Rc<RefCell<dyn AllGather>>;

/// This process of the two.
pub struct Launch {
    /// The all-gather with the other process.
    pub gather: SharedGather,
    /// The launcher's name, for the table.
    pub name: &'static str,
}

/// Connects to the other process of `program`, and runs `part`. Prints an error with the rank.
pub fn run(program: &str, meeting: &Meeting, part: impl FnOnce(&Launch) -> Result<()>) -> ExitCode {
    match Launch::begin(meeting, program) {
        Ok(launch) => exit_code(&format!("{program}, rank {}", launch.rank()), part(&launch)),
        Err(error) => exit_code(program, Err(error)),
    }
}

/// Prints an error of `who`, and returns the exit code.
pub fn exit_code(who: &str, result: Result<()>) -> ExitCode {
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{who}: {error:#}");
            ExitCode::FAILURE
        }
    }
}

impl Launch {
    fn begin(meeting: &Meeting, program: &str) -> Result<Launch> {
        let gather = if let (Some(address), Some(rank)) = (&meeting.rendezvous, meeting.rank) {
            info!("Waiting for the other process at {address}");
            Rendezvous::join(address, rank, PROCESSES, LIMIT)
                .with_context(|| format!("the two processes did not meet at {address}"))?
        } else {
            Rendezvous::from_environment(LIMIT).map_err(|error| match error.code() {
                // With a launcher, PMIx's library may be missing.
                DocaError::NOT_FOUND if env::var_os("PMIX_RANK").is_none() => anyhow!(error)
                    .context(format!(
                        "start it as `mpirun -np 2 {program}`, or with --rendezvous and --rank"
                    )),
                // A launcher started it.
                _ => error.into(),
            })?
        };
        if gather.participants() != PROCESSES {
            bail!(
                "there must be two processes, but the launcher started {}: `mpirun -np 2 \
                 {program}`, or without a launcher --rendezvous and --rank",
                gather.participants()
            );
        }
        let is_named = meeting.rendezvous.is_some() || env::var_os("UROM_RENDEZVOUS").is_some();
        let name = if is_named { "rendezvous" } else { "PMIx" };
        Ok(Launch { gather: Rc::new(RefCell::new(gather)), name })
    }

    /// Returns the rank: 0 or 1.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.gather.borrow().index()
    }
}
