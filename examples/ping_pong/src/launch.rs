//! How the two processes were started, and so how they find each other.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use tracing::info;
use urom_host::gather::{AllGather, Rendezvous};

use crate::options::Options;

/// How many play.
const PLAYERS: u32 = 2;
/// How long the other process may take to come.
const LIMIT: Duration = Duration::from_secs(30);

/// How the two processes exchange bytes. The domain uses it while it starts, and
/// [`Partner`](crate::partner::Partner) before and after that.
pub(crate) type Gather = Rc<RefCell<dyn AllGather>>;

/// This process among the two.
pub(crate) struct Launch {
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
    /// Finds the other process.
    pub(crate) fn begin(options: &Options) -> Result<Launch> {
        let (Some(address), Some(rank)) = (&options.rendezvous, options.rank) else {
            return Self::mpi();
        };
        info!("Waiting for the other process at {address}");
        let gather = Rendezvous::join(address, rank, PLAYERS, LIMIT)
            .with_context(|| format!("the two processes did not meet at {address}"))?;
        Ok(Launch::new(gather, Launcher::Hand))
    }

    #[cfg(feature = "mpi")]
    fn mpi() -> Result<Launch> {
        use urom_host::mpi::traits::Communicator;
        let Some(universe) = urom_host::mpi::initialize() else {
            bail!("MPI was initialised before")
        };
        let world = universe.world();
        if world.size().unsigned_abs() != PLAYERS {
            bail!(
                "two processes play ping pong, but MPI started {}: `mpirun -np 2 ping_pong`, or without MPI \
                 --rendezvous and --rank",
                world.size()
            );
        }
        Ok(Launch::new(urom_host::gather::Mpi::new(&world)?, Launcher::Mpi(universe)))
    }

    #[cfg(not(feature = "mpi"))]
    fn mpi() -> Result<Launch> {
        bail!(
            "this build knows no MPI: give --rendezvous and --rank, or build with --features mpi"
        );
    }

    fn new(gather: impl AllGather + 'static, launcher: Launcher) -> Launch {
        Launch { gather: Rc::new(RefCell::new(gather)), launcher }
    }

    /// Which of the two this is: 0 or 1.
    pub(crate) fn rank(&self) -> u32 {
        self.gather.borrow().index()
    }

    pub(crate) fn gather(&self) -> Gather {
        Rc::clone(&self.gather)
    }

    /// For the table.
    pub(crate) fn name(&self) -> &'static str {
        match self.launcher {
            #[cfg(feature = "mpi")]
            Launcher::Mpi(_) => "MPI",
            Launcher::Hand => "rendezvous",
        }
    }

    /// Takes the other process down with this one under MPI. Otherwise it notices that this one
    /// goes.
    pub(crate) fn abort(&self) {
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
