//! The all-gather of the launcher that started this process.

use std::env;
use std::time::Duration;

use urom_abi::DocaError;

use super::pmix::{Pmix, VARIABLES as PMIX};
use super::{AllGather, BoxError, Error, Rendezvous};

const ADDRESS: &str = "UROM_RENDEZVOUS";
const INDEX: &str = "UROM_RANK";
const PARTICIPANTS: &str = "UROM_SIZE";

/// The all-gather that the environment offers: see [`from_environment`](Self::from_environment).
#[derive(Debug)]
pub enum Gather {
    /// The launcher offers PMIx.
    Pmix(Pmix),
    /// A script set the variables of a rendezvous.
    Rendezvous(Rendezvous),
}

impl Gather {
    /// Meets the other processes of the program in the way that its launcher offers.
    ///
    /// | set in the environment | used |
    /// | --- | --- |
    /// | `PMIX_NAMESPACE` and `PMIX_RANK`, by `mpirun`, `prterun`, `srun --mpi=pmix` | [`Pmix`] |
    /// | `UROM_RENDEZVOUS` (`HOST:PORT` of participant 0), `UROM_RANK`, `UROM_SIZE` | [`Rendezvous`] |
    ///
    /// The variables of a rendezvous win where both are set. `limit` is how long the meeting may
    /// take, and each exchange.
    ///
    /// # Errors
    /// `NOT_FOUND` when the environment has neither; `INVALID_VALUE` for a variable of a rendezvous
    /// that is missing or not a number; otherwise the errors of [`Pmix::join`] and
    /// [`Rendezvous::join`].
    pub fn from_environment(limit: Duration) -> Result<Gather, Error> {
        if let Some(address) = variable(ADDRESS) {
            let (index, participants) = (number(INDEX)?, number(PARTICIPANTS)?);
            return Rendezvous::join(&address, index, participants, limit).map(Gather::Rendezvous);
        }
        if PMIX.iter().all(|variable| env::var_os(variable).is_some()) {
            return Pmix::join(limit).map(Gather::Pmix);
        }
        let text = format!(
            "no launcher started this process: neither {} (set by mpirun, prterun and srun \
             --mpi=pmix) nor {ADDRESS}, {INDEX} and {PARTICIPANTS} are set",
            PMIX.join(" and ")
        );
        Err(Error::new(DocaError::NOT_FOUND, text))
    }
}

fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

fn number(name: &str) -> Result<u32, Error> {
    let value = variable(name);
    value.as_deref().and_then(|value| value.trim().parse().ok()).ok_or_else(|| {
        let found = value.map_or("not set".to_owned(), |value| format!("`{value}`"));
        let text = format!("{ADDRESS} is set, so {name} must be a number; it is {found}");
        Error::new(DocaError::INVALID_VALUE, text)
    })
}

impl AllGather for Gather {
    fn participants(&self) -> u32 {
        self.inner().participants()
    }

    fn index(&self) -> u32 {
        self.inner().index()
    }

    fn begin(&mut self, block: &[u8]) -> Result<(), BoxError> {
        self.inner_mut().begin(block)
    }

    fn test(&mut self, blocks: &mut [u8]) -> Result<bool, BoxError> {
        self.inner_mut().test(blocks)
    }
}

impl Gather {
    fn inner(&self) -> &dyn AllGather {
        match self {
            Gather::Pmix(gather) => gather,
            Gather::Rendezvous(gather) => gather,
        }
    }

    fn inner_mut(&mut self) -> &mut dyn AllGather {
        match self {
            Gather::Pmix(gather) => gather,
            Gather::Rendezvous(gather) => gather,
        }
    }
}
