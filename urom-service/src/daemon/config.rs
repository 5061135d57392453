//! The configuration of a daemon: its arguments, and what they lead to.

use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser;
use clap::builder::RangedU64ValueParser;
use urom_abi::cpu::CpuSet;
use urom_wire::control::DEFAULT_PORT;
use urom_wire::frame::{MAX_PAYLOAD, MESSAGE_LEN};
use urom_wire::key::Key;
use urom_wire::patience::Patience;

use super::environment::{allowed, given};
use super::roster::Serial;
use crate::log::LogLevel;

/// The smallest message limit in bytes.
pub const MIN_MAX_MESSAGE: usize = 64;

/// The largest message limit in bytes.
pub const MAX_MAX_MESSAGE: usize = MAX_PAYLOAD;

/// The longest path of a folder for sockets: an address has 107 bytes, of which a worker's name
/// takes some 40.
const LONGEST_SOCKET_DIR: usize = 64;

/// A daemon's arguments: those of `uromd`, for other programs that run one to flatten into theirs.
#[derive(Debug, Clone, clap::Args)]
pub struct DaemonArgs {
    /// Where to listen: an address, or address:port. Port 0 picks one. Workers listen on the same
    /// address. Any other than a loopback address takes a key file.
    #[arg(long, value_name = "ADDR[:PORT]", default_value = "127.0.0.1", value_parser = listen_address)]
    pub(crate) listen: SocketAddr,
    /// The key that hosts have to prove they hold: a file of 32 to 4096 bytes, of mode 0600 and of
    /// this user, of which each host has a copy. That of the variable UROM_KEY_FILE if not given.
    #[arg(long, value_name = "FILE")]
    pub(crate) key_file: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) limits: Limits,
    /// How many seconds a host, or a worker, may be silent before it counts as lost: 3 or more, or
    /// `off` to wait for ever, as for a program in a debugger. Workers have the same patience with
    /// this program and with hosts. That of the variable UROM_PATIENCE, or 3.5, if not given.
    #[arg(long, value_name = "SECONDS")]
    pub(crate) patience: Option<Patience>,
    /// How many seconds a plugin may take to return from a call. A worker whose plugin takes longer
    /// ends, and its hosts get TIME_OUT. If not given, such a worker stays until its hosts leave
    /// it; after 5 s the log tells of it in any case.
    #[arg(long, value_name = "SECONDS", value_parser = seconds())]
    pub(crate) plugin_timeout: Option<u32>,
    /// Use nothing of plugins but DOCA's interface, as NVIDIA's service does: not what plugins of
    /// this kit offer beyond it.
    #[arg(long)]
    pub(crate) plain_doca: bool,
    /// A folder for the sockets where hosts hand memory to workers: containers that share it share
    /// memory as quickly as processes beside each other. Who may use the folder may connect; a host
    /// still has to show its ticket. If not given, the sockets have abstract names, which are found
    /// within one network namespace.
    #[arg(long, value_name = "DIR", value_parser = socket_dir)]
    pub(crate) socket_dir: Option<PathBuf>,
    /// Emulate UCX's exported memory handles in workers, where there is no RDMA device: for plugins
    /// that need a BlueField's cross-GVMI. Hosts preload liburom_ucx_emulation.so, and run on this
    /// machine as the same user.
    #[arg(long)]
    pub(crate) emulate_exported_memory: bool,
    /// What to log of this program: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug,
    /// 70 trace.
    #[arg(short, long, value_name = "LEVEL", default_value = "50")]
    pub(crate) log_level: LogLevel,
    /// What to log of the libraries it uses, on the same scale; also UCX_LOG_LEVEL of the workers,
    /// unless that is set in the environment. 40 and UCX's own default if not given.
    #[arg(long, value_name = "LEVEL")]
    pub(crate) sdk_log_level: Option<LogLevel>,
    /// The longest message between host and worker in bytes, UROM's header of 24 or 32 bytes
    /// included.
    #[arg(short, long = "max-msg-size", value_name = "BYTES", default_value_t = urom_abi::DEFAULT_MAX_MESSAGE, value_parser = max_message)]
    pub(crate) max_message: usize,
    /// How many bytes of answers one host may leave unread at one worker, and all hosts of a worker
    /// four times as many. A host that leaves more is given up. At least four messages, each 8000
    /// bytes longer than --max-msg-size; 64 MiB if not given, or 128 such messages if these are
    /// more.
    #[arg(long, value_name = "BYTES")]
    pub(crate) max_unread: Option<usize>,
    /// The CPUs hosts may give to workers, such as 0-7. Reported as given, whether or not the
    /// machine has them; workers are kept to those that exist. Those of this process if not given.
    #[arg(long, value_name = "LIST")]
    pub(crate) cpus: Option<CpuSet>,
    /// What starts each worker, such as "qemu-aarch64-static -L /usr/aarch64-linux-gnu", "valgrind
    /// -q" or "gdbserver :0". Gets the worker's program and arguments behind its own, which may be
    /// quoted as in a shell; must pass its standard input on, and stay until the worker ends.
    #[arg(long, value_name = "COMMAND", value_parser = words)]
    pub(crate) worker_launcher: Option<Words>,
    /// A variable of this program's environment that workers find in theirs, or one with a value;
    /// may be given several times. They have PATH, LD_LIBRARY_PATH, RUST_BACKTRACE and UCX_* in any
    /// case, a GLIBC_TUNABLES unless given here, and what their host asks for.
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = given)]
    pub(crate) worker_env: Vec<String>,
    /// What hosts may set in the environment of their workers: a name, or all names that begin so;
    /// may be given several times. They may in any case set UCX_TLS, UCX_LOG_LEVEL, what
    /// --worker-env gives, and names that begin with UROM_, but for the kit's own.
    #[arg(long, value_name = "NAME|PREFIX*", value_parser = allowed)]
    pub(crate) worker_env_allow: Vec<String>,
}

/// A program and its arguments. clap would take a plain list for an argument's several values.
type Words = Arc<[OsString]>;

fn words(text: &str) -> Result<Words, String> {
    let words = shell_words::split(text).map_err(|_| "a quotation mark has no end".to_owned())?;
    if words.first().is_none_or(String::is_empty) {
        return Err("expected a program and its arguments".to_owned());
    }
    Ok(words.into_iter().map(OsString::from).collect())
}

fn count() -> RangedU64ValueParser<usize> {
    RangedU64ValueParser::new().range(1..=1 << 20)
}

fn seconds() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=u64::from(u32::MAX))
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address = text
        .parse()
        .or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DEFAULT_PORT)));
    address
        .map_err(|_| "expected an address such as 127.0.0.1, 0.0.0.0:18700 or [::1]:0".to_owned())
}

/// A folder whose sockets have addresses that are short enough.
fn socket_dir(text: &str) -> Result<PathBuf, String> {
    let folder = std::path::absolute(text).map_err(|error| error.to_string())?;
    if !folder.is_dir() {
        return Err("there is no such folder: make it first".to_owned());
    }
    let len = folder.as_os_str().len();
    if len > LONGEST_SOCKET_DIR {
        return Err(format!("its path has {len} bytes, and {LONGEST_SOCKET_DIR} is the limit"));
    }
    Ok(folder)
}

fn max_message(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (MIN_MAX_MESSAGE..=MAX_MAX_MESSAGE).contains(size));
    size.ok_or_else(|| {
        format!("expected a number of bytes from {MIN_MAX_MESSAGE} to {MAX_MAX_MESSAGE}")
    })
}

impl Default for DaemonArgs {
    /// Those of a program that was given none.
    fn default() -> DaemonArgs {
        #[derive(clap::Parser)]
        struct Program {
            #[command(flatten)]
            args: DaemonArgs,
        }
        Program::parse_from(["uromd"]).args
    }
}

/// How many of everything a daemon takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::Args)]
pub struct Limits {
    /// The most hosts that may be connected at a time: to the daemon, and to each worker.
    #[arg(long = "max-hosts", value_name = "N", default_value_t = Limits::default().hosts, value_parser = count())]
    pub hosts: usize,
    /// The most workers that there may be at a time. One that was told to leave counts no more, and
    /// may take some seconds to end.
    #[arg(long = "max-workers", value_name = "N", default_value_t = Limits::default().workers, value_parser = count())]
    pub workers: usize,
    /// The most of them that one host may use at a time.
    #[arg(long = "max-workers-per-host", value_name = "N", default_value_t = Limits::default().workers_per_host, value_parser = count())]
    pub workers_per_host: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { hosts: 1024, workers: 1024, workers_per_host: 256 }
    }
}

/// The arguments, and what they and the environment lead to.
#[derive(Debug, Clone)]
pub(crate) struct DaemonConfig {
    pub(crate) args: DaemonArgs,
    /// The key that hosts must hold. Without one, the daemon listens on loopback addresses only.
    pub(crate) key: Option<Key>,
    /// How long hosts and workers may be silent; the workers' own, too.
    pub(crate) patience: Patience,
    /// The CPUs hosts are told of and may give to workers.
    pub(crate) cpus: CpuSet,
    /// The directories and files where plugins lie, instead of those of `UROM_PLUGIN_PATH`.
    pub(crate) plugin_path: Option<Vec<PathBuf>>,
    /// The first arguments of a worker process, before `worker`: none when the program is `uromd`.
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
        self.args.worker_launcher.as_deref().unwrap_or_default()
    }
}

impl DaemonArgs {
    pub(crate) fn sdk_log_level(&self) -> LogLevel {
        self.sdk_log_level.unwrap_or(LogLevel::WARNING)
    }

    /// How much one host may leave unread: unless it is set, 64 MiB, or 128 messages where these
    /// are more. A host with 64 tasks in flight, `urom-host`'s default, never has more unread,
    /// however slowly it reads: the worker may have two answers for each, because a host may have
    /// an answer, and use its slot again, before UCX tells the worker.
    pub(crate) fn max_unread(&self) -> usize {
        self.max_unread.unwrap_or_else(|| (64 << 20).max(128 * (self.max_message + MESSAGE_LEN)))
    }

    /// The least that can be set: four messages.
    pub(crate) fn min_max_unread(&self) -> usize {
        4 * (self.max_message + MESSAGE_LEN)
    }
}

/// The CPUs this process may use.
///
/// # Errors
/// The operating system's.
pub fn process_cpus() -> io::Result<CpuSet> {
    let set = rustix::thread::sched_getaffinity(None)?;
    Ok((0..CpuSet::CAPACITY.min(rustix::thread::CpuSet::MAX_CPU))
        .filter(|cpu| set.is_set(*cpu))
        .collect())
}
