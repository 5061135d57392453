//! Which cores a measurement runs on, and pinning threads to them.

use anyhow::{Context, Result};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The cores this program was given, at least one of them.
#[derive(Clone, Debug)]
pub(crate) struct Cores(Vec<usize>);

impl Cores {
    /// Asks the system.
    ///
    /// # Errors
    /// When it does not say.
    pub(crate) fn find() -> Result<Cores> {
        let set =
            sched_getaffinity(None).context("the system does not say which cores there are")?;
        Ok(Cores((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()))
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The core of the `number`th host. With two cores all hosts share the first.
    pub(crate) fn host(&self, number: usize) -> usize {
        let others = self.0.len().saturating_sub(1).max(1);
        let at = number % others;
        // The second core is the worker's.
        self.0[if at == 0 { 0 } else { at + 1 }]
    }

    /// The core of the worker under measurement.
    pub(crate) fn worker(&self) -> usize {
        self.0[1.min(self.0.len() - 1)]
    }

    /// The first host's core and the worker's.
    pub(crate) fn pair(&self) -> [usize; 2] {
        [self.host(0), self.worker()]
    }

    /// What is to be known about a figure whose hosts share cores, if they do.
    pub(crate) fn sharing(&self, hosts: usize) -> Option<String> {
        let rooms = self.0.len().saturating_sub(1).max(1);
        (hosts > rooms).then(|| {
            format!(
                "{hosts} spinning hosts share {rooms} core{}: most of a host's time is waiting for its turn on the core, so \
                 this shows what the scheduler makes of it more than what a command costs",
                if rooms == 1 { "" } else { "s" }
            )
        })
    }
}

/// Pins the calling thread.
///
/// # Errors
/// When the system has no such core, or does not give it.
pub(crate) fn pin(core: usize) -> rustix::io::Result<()> {
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set)
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
