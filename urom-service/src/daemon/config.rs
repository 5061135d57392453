//! A daemon's configuration: its options and its environment.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use urom_abi::cpu::CpuSet;
use urom_wire::key::Key;
use urom_wire::peer_timeout::PeerTimeout;

use super::args::DaemonArgs;
use super::registry::Serial;

#[derive(Debug, Clone)]
pub(crate) struct DaemonConfig {
    pub(crate) args: DaemonArgs,
    /// The hosts' key. Without it, the daemon listens on loopback addresses only.
    pub(crate) key: Option<Key>,
    pub(crate) peer_timeout: PeerTimeout,
    pub(crate) cpus: CpuSet,
    /// Replaces `UROM_PLUGIN_PATH`.
    pub(crate) plugin_path: Option<Vec<PathBuf>>,
    pub(crate) worker_words: Vec<OsString>,
    pub(crate) preload: Option<PathBuf>,
}

impl DaemonConfig {
    pub(crate) fn new(args: DaemonArgs, cpus: CpuSet) -> DaemonConfig {
        let (peer_timeout, worker_words) = (PeerTimeout::default(), Vec::new());
        DaemonConfig {
            args,
            key: None,
            peer_timeout,
            cpus,
            plugin_path: None,
            worker_words,
            preload: None,
        }
    }

    /// Unique for each worker: daemons may share a folder, and workers may reuse an id.
    pub(crate) fn socket(&self, serial: Serial) -> Option<PathBuf> {
        let folder = self.args.socket_dir.as_ref()?;
        Some(folder.join(format!("urom-{}-{serial}", std::process::id())))
    }
}

pub(crate) fn process_cpus() -> io::Result<CpuSet> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::CAPACITY.min(rustix::thread::CpuSet::MAX_CPU))
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}
