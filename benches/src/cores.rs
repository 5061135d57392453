//! The cores that a measurement runs on, and pinning threads to them.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};
use urom_abi::Quantity;

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    pub(crate) fn find() -> Result<Cores> {
        let set = sched_getaffinity(None).context("cannot read which cores there are")?;
        Ok(Cores((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the core of host `number`. With two cores all hosts share the first.
    pub(crate) fn host(&self, number: usize) -> usize {
        let at = number % self.for_hosts();
        // The second core is the worker's.
        self.0[if at == 0 { 0 } else { at + 1 }]
    }

    fn for_hosts(&self) -> usize {
        self.0.len().saturating_sub(1).max(1)
    }

    pub(crate) fn worker(&self) -> usize {
        self.0[1.min(self.0.len() - 1)]
    }

    pub(crate) fn sharing(&self, hosts: usize) -> Option<String> {
        let cores = self.for_hosts();
        (hosts > cores).then(|| {
            format!(
                "{hosts} spinning hosts share {}: a host mostly waits for its turn, so this shows \
                 the scheduler more than the cost of a command",
                Quantity(cores, "core")
            )
        })
    }
}

pub(crate) fn pin(core: usize) -> Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).with_context(|| format!("cannot pin a thread to core {core}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_share_what_the_worker_leaves() {
        let cores = |count| Cores((0..count).collect());
        let hosts = |count| std::array::from_fn::<_, 4, _>(|number| cores(count).host(number));
        assert_eq!((hosts(1), cores(1).worker()), ([0, 0, 0, 0], 0));
        assert_eq!((hosts(2), cores(2).worker()), ([0, 0, 0, 0], 1));
        assert_eq!((hosts(4), cores(4).worker()), ([0, 2, 3, 0], 1));
        assert_eq!(hosts(8), [0, 2, 3, 4]);
    }

    #[test]
    fn only_a_shared_core_is_noted() {
        let cores = |count| Cores((0..count).collect());
        assert_eq!(cores(2).sharing(1), None);
        assert_eq!(cores(5).sharing(4), None);
        assert!(
            cores(2).sharing(4).is_some_and(|note| note.contains("4 spinning hosts share 1 core:"))
        );
    }
}
