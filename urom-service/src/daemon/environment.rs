//! What a worker's process finds in its environment: little of the daemon's, and what was asked for.

use std::ffi::{OsStr, OsString};
use std::net::IpAddr;
use std::os::unix::ffi::OsStrExt;

use crate::worker::{LOOPBACK_DEVICE, is_loopback};

/// What workers have of the daemon's environment without being asked: where programs and libraries lie, so that a worker is
/// the same program with the same libraries, and whether it tells where it panicked.
const KEPT: [&str; 4] = ["LD_LIBRARY_PATH", "PATH", "RUST_BACKTRACE", "RUST_LIB_BACKTRACE"];

/// Everything that configures UCX: host and worker have to agree on it.
const KEPT_PREFIX: &[u8] = b"UCX_";

/// What glibc's heap does in workers unless the one who runs the daemon says otherwise: it keeps more freed blocks of each size at
/// hand than the 7 it keeps by itself. Each command in flight has two, its descriptor and that of its answer, and whoever has
/// more of them than are kept pays for the long way in and out of the heap.
const HEAP: (&str, &str) = ("GLIBC_TUNABLES", "glibc.malloc.tcache_count=512");

/// Names the devices that UCX uses, and listens on.
const DEVICES: &str = "UCX_NET_DEVICES";

/// Whose names hosts leave alone, but for [`FOR_HOSTS`]: the loader and the C library, shells, UCX and the drivers below it with
/// their tools, emulators, checkers and sanitizers that workers may run under. By the names of each, code from elsewhere than the
/// plugin path can be loaded, files be written, or ports be opened on more devices. Which ones, differs from release to release.
const GUARDED_PREFIXES: [&[u8]; 26] = [
    b"ASAN_",
    b"BASH_",
    b"CUDA_",
    b"GLIBC_",
    b"HIP_",
    b"HSA_",
    b"IBV_",
    b"LD_",
    b"LSAN_",
    b"MALLOC_",
    b"MLX4_",
    b"MLX5_",
    b"MSAN_",
    b"NSAN_",
    b"NVTX_",
    b"QEMU_",
    b"RDMAV_",
    b"ROCP_",
    b"TSAN_",
    b"UBSAN_",
    b"UCX_",
    b"VALGRIND_",
    b"ZEL_",
    b"ZES_",
    b"ZET_",
    b"ZE_",
];

/// The same for single names: where UCX looks for a configuration, where programs are found, what a shell runs or shows before
/// what it was started for, and what the C library itself does not believe in a program with more rights than its caller.
const GUARDED: [&str; 18] = [
    "BASHOPTS",
    "ENV",
    "GCONV_PATH",
    "GETCONF_DIR",
    "HOME",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "LOCPATH",
    "NIS_PATH",
    "NLSPATH",
    "PATH",
    "PS4",
    "RESOLV_HOST_CONF",
    "RES_OPTIONS",
    "SHELL",
    "SHELLOPTS",
    "TMPDIR",
    "TZDIR",
];

/// What hosts set in spite of its family: these choose among what UCX has, and say how much it logs.
const FOR_HOSTS: [&str; 2] = ["UCX_LOG_LEVEL", "UCX_TLS"];

/// A variable that the one who runs the daemon gives to all workers: the daemon's own, or one with a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerVariable {
    name: OsString,
    value: Option<OsString>,
}

/// An argument that is no variable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a variable for workers is given as NAME, which is then the daemon's own, or as NAME=VALUE")]
pub struct ParseVariableError;

impl TryFrom<OsString> for WorkerVariable {
    type Error = ParseVariableError;

    fn try_from(text: OsString) -> Result<WorkerVariable, ParseVariableError> {
        let bytes = text.as_bytes();
        let (name, value) = match bytes.iter().position(|byte| *byte == b'=') {
            Some(at) => (&bytes[..at], Some(OsStr::from_bytes(&bytes[at + 1..]).to_owned())),
            None => (bytes, None),
        };
        if name.is_empty() {
            return Err(ParseVariableError);
        }
        Ok(WorkerVariable { name: OsStr::from_bytes(name).to_owned(), value })
    }
}

/// What a worker has of the daemon's environment `own`, before what its host asked for.
///
/// A worker that `listen`s on a loopback address has UCX listen there only, unless somebody said otherwise.
pub(crate) fn inherited(
    own: impl Iterator<Item = (OsString, OsString)>,
    given: &[WorkerVariable],
    listen: IpAddr,
) -> Vec<(OsString, OsString)> {
    let asked = |name: &OsStr| given.iter().any(|variable| variable.value.is_none() && variable.name == name);
    // Of two with a name the later one counts.
    let mut kept = vec![(HEAP.0.into(), HEAP.1.into())];
    kept.extend(own.filter(|(name, _)| is_kept(name) || asked(name)));
    if is_loopback(listen) && !kept.iter().any(|(name, _)| name == DEVICES) {
        kept.push((DEVICES.into(), LOOPBACK_DEVICE.into()));
    }
    let valued = |variable: &WorkerVariable| Some((variable.name.clone(), variable.value.clone()?));
    kept.extend(given.iter().filter_map(valued));
    kept
}

fn is_kept(name: &OsStr) -> bool {
    KEPT.iter().any(|kept| name == *kept) || name.as_bytes().starts_with(KEPT_PREFIX)
}

/// Whether a host may set a variable. What is nobody's here is for plugins.
pub(crate) fn is_for_hosts(name: &OsStr) -> bool {
    let is_guarded = GUARDED.iter().any(|guarded| name == *guarded)
        || GUARDED_PREFIXES.iter().any(|prefix| name.as_bytes().starts_with(prefix));
    !is_guarded || FOR_HOSTS.iter().any(|allowed| name == *allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCAL: IpAddr = IpAddr::V4(std::net::Ipv4Addr::LOCALHOST);
    const ANYWHERE: IpAddr = IpAddr::V4(std::net::Ipv4Addr::UNSPECIFIED);

    fn variable(text: &str) -> WorkerVariable {
        WorkerVariable::try_from(OsString::from(text)).unwrap()
    }

    fn names(own: &[&str], given: &[&str], listen: IpAddr) -> Vec<String> {
        let own = own.iter().map(|name| (OsString::from(name), OsString::from("own")));
        let given: Vec<_> = given.iter().map(|text| variable(text)).collect();
        let text = |(name, value): (OsString, OsString)| format!("{}={}", name.display(), value.display());
        let mut all = inherited(own, &given, listen).into_iter().map(text);
        assert_eq!(all.next().as_deref(), Some("GLIBC_TUNABLES=glibc.malloc.tcache_count=512"));
        all.collect()
    }

    #[test]
    fn a_worker_has_what_it_needs_and_what_was_given_and_no_more() {
        let own = ["HOME", "PATH", "UROM_KEY_FILE", "UCX_TLS", "AWS_SECRET", "SEEN", "LD_PRELOAD", "XUCX_A"];
        assert_eq!(names(&own, &[], ANYWHERE), ["PATH=own", "UCX_TLS=own"]);
        let given = ["SEEN", "ABSENT", "UCX_TLS=tcp", "NEW=a=b", "EMPTY="];
        let expected = ["PATH=own", "UCX_TLS=own", "SEEN=own", "UCX_TLS=tcp", "NEW=a=b", "EMPTY="];
        assert_eq!(names(&own, &given, ANYWHERE), expected);
    }

    #[test]
    fn ucx_listens_where_the_worker_does_unless_somebody_says_otherwise() {
        assert_eq!(names(&[], &[], LOCAL), ["UCX_NET_DEVICES=lo"]);
        assert_eq!(names(&[], &[], "::ffff:127.0.0.1".parse().unwrap()), ["UCX_NET_DEVICES=lo"]);
        assert_eq!(names(&[], &[], ANYWHERE), [""; 0]);
        assert_eq!(names(&["UCX_NET_DEVICES"], &[], LOCAL), ["UCX_NET_DEVICES=own"]);
        // The later one counts, whatever there is without being asked for.
        assert_eq!(names(&[], &["GLIBC_TUNABLES=given"], ANYWHERE), ["GLIBC_TUNABLES=given"]);
        let both = ["UCX_NET_DEVICES=lo", "UCX_NET_DEVICES=eth0"];
        assert_eq!(names(&[], &["UCX_NET_DEVICES=eth0"], LOCAL), both);
    }

    #[test]
    fn what_is_no_variable_is_refused() {
        for text in ["", "=", "=value"] {
            assert_eq!(WorkerVariable::try_from(OsString::from(text)), Err(ParseVariableError), "{text:?}");
        }
    }

    #[test]
    fn hosts_set_nothing_that_loads_code_writes_files_or_opens_ports() {
        for name in [
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "GLIBC_TUNABLES",
            "UCX_MODULE_DIR",
            "UCX_PLUGIN_PATH",
            "UCX_LOG_FILE",
            "UCX_MEMTRACK_DEST",
            "UCX_VFS_SOCK_PATH",
            "UCX_CONFIG_DIR",
            "UCX_NET_DEVICES",
            "RDMAV_DRIVERS",
            "IBV_DRIVERS",
            "CUDA_INJECTION64_PATH",
            "NVTX_INJECTION64_PATH",
            "ROCP_TOOL_LIB",
            "ZEL_LIBRARY_PATH",
            "ASAN_OPTIONS",
            "SHELL",
            "SHELLOPTS",
            "BASHOPTS",
            "PS4",
            "ENV",
            "TZDIR",
            "HOME",
            "PATH",
            "TMPDIR",
        ] {
            assert!(!is_for_hosts(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn a_name_of_a_guarded_family_that_nobody_has_heard_of_is_refused_too() {
        let families = ["ZE_", "ZEL_", "ZES_", "ZET_", "ROCP_", "NVTX_"].into_iter();
        let sanitizers = ["ASAN_", "LSAN_", "MSAN_", "NSAN_", "TSAN_", "UBSAN_"];
        let names =
            ["UCX_", "UCX_LOADS_CODE_SOME_DAY", "UCX_TLS2", "UCX_TLS\n", "IBV_X", "RDMAV_X", "CUDA_X"];
        for name in families.chain(sanitizers).chain(names) {
            assert!(!is_for_hosts(OsStr::new(name)), "{name:?}");
        }
    }

    #[test]
    fn hosts_choose_ucx_transports_and_what_it_logs_and_set_what_plugins_read() {
        for name in ["UCX_TLS", "UCX_LOG_LEVEL", "LDX", "MINE", "HOMEX", "TRACE_FILE", "ENVX", "TZ", "PS1"] {
            assert!(is_for_hosts(OsStr::new(name)), "{name}");
        }
    }
}
