//! The values in force in a daemon: its options, and what the environment adds.

use std::ffi::OsString;
use std::io;
use std::path::PathBuf;

use urom_abi::cpu::CpuSet;
use urom_wire::key::Key;
use urom_wire::patience::Patience;

use super::options::DaemonArgs;
use super::roster::Serial;

#[derive(Debug, Clone)]
pub(crate) struct DaemonConfig {
    pub(crate) args: DaemonArgs,
    /// The key that hosts must hold. Without one, the daemon listens on loopback addresses only.
    pub(crate) key: Option<Key>,
    pub(crate) patience: Patience,
    pub(crate) cpus: CpuSet,
    /// The directories and files where plugins lie, instead of those of `UROM_PLUGIN_PATH`.
    pub(crate) plugin_path: Option<Vec<PathBuf>>,
    pub(crate) worker_words: Vec<OsString>,
    /// A library that workers load before all others.
    pub(crate) preload: Option<PathBuf>,
}

impl DaemonConfig {
    pub(crate) fn new(args: DaemonArgs, cpus: CpuSet) -> DaemonConfig {
        let (patience, worker_words) = (Patience::default(), Vec::new());
        DaemonConfig {
            args,
            key: None,
            patience,
            cpus,
            plugin_path: None,
            worker_words,
            preload: None,
        }
    }

    /// The socket of a worker, if there is a folder for them. Several daemons may have one folder,
    /// and several workers one id, one after the other.
    pub(crate) fn socket(&self, serial: Serial) -> Option<PathBuf> {
        let folder = self.args.socket_dir.as_ref()?;
        Some(folder.join(format!("urom-{}-{serial}", std::process::id())))
    }

    /// What starts each worker, with its first arguments; empty when workers are started directly.
    pub(crate) fn worker_launcher(&self) -> &[OsString] {
        &self.args.worker_launcher
    }
}

pub(crate) fn process_cpus() -> io::Result<CpuSet> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::CAPACITY.min(rustix::thread::CpuSet::MAX_CPU))
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}
