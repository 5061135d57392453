//! Raises the limit on open files for the daemon and its workers, which inherit it.

use std::fs::File;

use rustix::io::fcntl_dupfd_cloexec;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use urom_abi::Quantity;

use super::args::DaemonLimits;
use crate::handshakes::MAX_HANDSHAKES;

pub(crate) const OWN: usize = 64;

/// A worker's descriptors per host: its stream, use guard, and doorbells or UCX's descriptors.
const FOR_A_HOST: usize = 5;

/// The daemon's descriptors per worker: its stream, its process, and some briefly during the start.
const FOR_A_WORKER: usize = 3;

pub(crate) fn allow(limits: DaemonLimits) {
    let needed = needed(limits);
    raise(limits, needed);
    reserve_descriptors(needed);
}

/// Makes the kernel's descriptor table large enough in advance. Later growth, in a process with
/// several threads, waits some 10 ms for all processors.
fn reserve_descriptors(needed: u64) {
    let most = getrlimit(Resource::Nofile).current.map_or(needed, |current| current.min(needed));
    let Some(last) = most.checked_sub(1).and_then(|last| i32::try_from(last).ok()) else { return };
    let _ = File::open("/dev/null").map(|file| fcntl_dupfd_cloexec(file, last));
}

fn raise(limits: DaemonLimits, needed: u64) {
    let now = getrlimit(Resource::Nofile);
    if now.current.is_none_or(|current| current >= needed) {
        return;
    }
    let reached = now.maximum.map_or(needed, |most| most.min(needed));
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(reached), ..now });
    if let Err(problem) = raised {
        warn!("the limit of open files cannot be raised to {reached}: {problem}");
    } else if reached < needed {
        warn!(
            "{reached} files may be open at a time, and {} and {} may need {needed}: raise the hard limit \
             (LimitNOFILE=, `--ulimit nofile=` of a container, `ulimit -n` as root), or lower --max-hosts and --max-workers",
            Quantity(limits.hosts, "host"),
            Quantity(limits.workers, "worker")
        );
    }
}

fn needed(limits: DaemonLimits) -> u64 {
    let DaemonLimits { hosts, workers, .. } = limits;
    let all = OWN + MAX_HANDSHAKES + FOR_A_HOST * hosts + FOR_A_WORKER * workers;
    u64::try_from(all).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_hosts_and_workers_need_more_and_the_usual_ones_fit_in_8512() {
        let usual = DaemonLimits::default();
        for more in
            [DaemonLimits { hosts: 1 << 20, ..usual }, DaemonLimits { workers: 1 << 20, ..usual }]
        {
            assert!(needed(more) > 1 << 20);
        }
        assert_eq!(needed(usual), 8512);
    }
}
