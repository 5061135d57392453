//! UCX transports and heap settings of a suite's processes.

use std::process::Command;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Transports {
    /// All transports; hosts and workers have rings.
    All,
    Tcp,
}

impl Transports {
    pub(crate) fn variables(self) -> Vec<(&'static str, &'static str)> {
        // UCX logs to standard output by default, which carries a host's words.
        let mut variables = vec![("UCX_LOG_FILE", "stderr")];
        // By default UCX patches the C library in every process, which takes 0.4 s. Without the
        // patches, releases before 1.22 crash when a peer goes away during a long message.
        let (major, minor) = (ucx::version().major, ucx::version().minor);
        variables.extend(((major, minor) >= (1, 22)).then_some(("UCX_MEM_EVENTS", "n")));
        variables.extend(HEAP);
        variables.extend((self == Transports::Tcp).then_some(("UCX_TLS", "tcp")));
        variables
    }
}

/// Makes the C library return freed memory at once, so that a process's memory equals its use.
const HEAP: [(&str, &str); 4] = [
    ("MALLOC_ARENA_MAX", "1"),
    ("MALLOC_MMAP_THRESHOLD_", "65536"),
    ("MALLOC_TRIM_THRESHOLD_", "65536"),
    ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0"),
];

/// Sets the transports and the heap of a daemon and its workers. Workers inherit only the variables
/// in `--worker-env`.
pub(crate) fn set_up_daemon(command: &mut Command, transports: Transports) -> &mut Command {
    for (name, value) in HEAP {
        command.arg("--worker-env").arg(format!("{name}={value}"));
    }
    command.envs(transports.variables())
}
