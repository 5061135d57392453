//! The cores that a measurement runs on, and pinning threads to them.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::{Deserialize, Serialize};

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    /// Asks the system.
    pub(crate) fn find() -> Result<Cores> {
        let set = sched_getaffinity(None).context("cannot read which cores there are")?;
        Ok(Cores((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The core of host `number`. With two cores all hosts share the first.
    pub(crate) fn host(&self, number: usize) -> usize {
        // The second core is the worker's.
        let at = number % self.0.len().saturating_sub(1).max(1);
        self.0[if at == 0 { 0 } else { at + 1 }]
    }

    pub(crate) fn worker(&self) -> usize {
        self.0[1.min(self.0.len() - 1)]
    }
}

/// Pins the calling thread to `core`.
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
}
