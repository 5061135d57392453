//! How the two processes of an example were started, and so how they find each other.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::{Args, value_parser};
use tracing::info;
use urom_host::gather::{AllGather, Rendezvous};

/// How many take part.
const PROCESSES: u32 = 2;
/// How long the other process may take to come.
const LIMIT: Duration = Duration::from_secs(30);

/// Where two processes meet that were not started by mpirun. A program has it among its own
/// options, flattened.
#[derive(Debug, Args)]
pub struct Meeting {
    /// Finds the other process here instead of through MPI: rank 0 listens, rank 1 connects.
    #[arg(long, value_name = "HOST:PORT", requires = "rank")]
    rendezvous: Option<String>,

    /// Which of the two processes this is, with --rendezvous: 0 answers, 1 begins and measures.
    #[arg(long, value_name = "0|1", requires = "rendezvous", value_parser = value_parser!(u32).range(0..=1))]
    rank: Option<u32>,
}

/// How the two processes exchange bytes.
pub type Gather = Rc<RefCell<dyn AllGather>>;

/// This process among the two.
pub struct Launch {
    // Goes before MPI is finalized.
    gather: Gather,
    launcher: Launcher,
}

enum Launcher {
    /// Open MPI's mpirun, or whatever starts MPI programs.
    #[cfg(feature = "mpi")]
    Mpi(urom_host::mpi::environment::Universe),
    /// A person or a script, who said which of the two this is.
    Hand,
}

impl Launch {
    /// Finds the other process of `program`.
    ///
    /// # Errors
    /// When the other process does not come, or this was started in no way that it knows.
    pub fn begin(meeting: &Meeting, program: &str) -> Result<Launch> {
        let (Some(address), Some(rank)) = (&meeting.rendezvous, meeting.rank) else {
            return Self::mpi(program);
        };
        info!("Waiting for the other process at {address}");
        let gather = Rendezvous::join(address, rank, PROCESSES, LIMIT)
            .with_context(|| format!("the two processes did not meet at {address}"))?;
        Ok(Launch::new(gather, Launcher::Hand))
    }

    #[cfg(feature = "mpi")]
    fn mpi(program: &str) -> Result<Launch> {
        use urom_host::mpi::traits::Communicator;
        let Some(universe) = urom_host::mpi::initialize() else {
            bail!("MPI was initialised before")
        };
        let world = universe.world();
        if world.size().unsigned_abs() != PROCESSES {
            bail!(
                "there must be two processes, but MPI started {}: `mpirun -np 2 {program}`, or \
                 without MPI --rendezvous and --rank",
                world.size()
            );
        }
        Ok(Launch::new(urom_host::gather::Mpi::new(&world)?, Launcher::Mpi(universe)))
    }

    #[cfg(not(feature = "mpi"))]
    fn mpi(_: &str) -> Result<Launch> {
        bail!(
            "this build knows no MPI: give --rendezvous and --rank, or build with --features mpi"
        );
    }

    fn new(gather: impl AllGather + 'static, launcher: Launcher) -> Launch {
        Launch { gather: Rc::new(RefCell::new(gather)), launcher }
    }

    /// Which of the two this is: 0 or 1.
    #[must_use]
    pub fn rank(&self) -> u32 {
        self.gather.borrow().index()
    }

    /// How this process exchanges bytes with the other.
    #[must_use]
    pub fn gather(&self) -> Gather {
        Rc::clone(&self.gather)
    }

    /// For the table.
    #[must_use]
    pub fn name(&self) -> &'static str {
        match self.launcher {
            #[cfg(feature = "mpi")]
            Launcher::Mpi(_) => "MPI",
            Launcher::Hand => "rendezvous",
        }
    }

    /// Takes the other process down with this one under MPI. Otherwise it notices that this one
    /// goes.
    pub fn abort(&self) {
        match &self.launcher {
            #[cfg(feature = "mpi")]
            Launcher::Mpi(universe) => {
                use urom_host::mpi::traits::Communicator;
                universe.world().abort(1);
            }
            Launcher::Hand => {}
        }
    }
}
