//! A rendezvous configured by the launcher's environment.

use std::env;
use std::time::Duration;

use urom_abi::DocaError;

use super::pmix::VARIABLES as PMIX;
use super::{Error, Rendezvous};

const ADDRESS: &str = "UROM_RENDEZVOUS";
const INDEX: &str = "UROM_RANK";
const PARTICIPANTS: &str = "UROM_SIZE";

impl Rendezvous {
    /// Meets the other processes of the program as its launcher's environment configures it.
    ///
    /// | environment variables | method |
    /// | --- | --- |
    /// | `PMIX_NAMESPACE` and `PMIX_RANK` of a PMIx launcher | [`by_pmix`](Self::by_pmix) |
    /// | `UROM_RENDEZVOUS` (`HOST:PORT`), `UROM_RANK`, `UROM_SIZE` | [`join`](Self::join) |
    ///
    /// A rendezvous's variables take precedence. `limit` applies to the meeting and each exchange.
    ///
    /// # Errors
    /// `NOT_FOUND` without either; `INVALID_VALUE` when a rendezvous variable is missing or not a
    /// number; otherwise the errors of the method.
    pub fn from_environment(limit: Duration) -> Result<Rendezvous, Error> {
        if let Some(address) = variable(ADDRESS) {
            let (index, participants) = (number(INDEX)?, number(PARTICIPANTS)?);
            return Rendezvous::join(&address, index, participants, limit);
        }
        if PMIX.iter().all(|variable| env::var_os(variable).is_some()) {
            return Rendezvous::by_pmix(limit);
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
