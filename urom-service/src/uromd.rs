//! `uromd` as a function: the UROM service daemon, and `uromd worker`, started by itself, one of
//! its workers.

use std::ffi::OsString;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::builder::{OsStringValueParser, RangedU64ValueParser, TypedValueParser};
use clap::{Parser, Subcommand};
use urom_abi::cpu::CpuSet;
use urom_wire::control::DEFAULT_PORT;
use urom_wire::key::{Key, key_file_of_environment};
use urom_wire::patience::{PATIENCE_VARIABLE, Patience};

use crate::daemon::config::{Limits, MAX_MAX_MESSAGE, MIN_MAX_MESSAGE, process_cpus};
use crate::daemon::{AllowedVariables, DaemonConfig, WorkerVariable};
use crate::examine::{self, EXAMINE};
use crate::log::{self, Lines, Log, LogLevel};
use crate::worker::{self, Place, WorkerConfig};

/// The DOCA UROM service: finds plugins in UROM_PLUGIN_PATH (directories and files, separated by
/// `;`), and starts a worker process for each worker a host asks for.
#[derive(Debug, Parser)]
#[command(name = "uromd", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    worker: Option<Role>,
    #[command(flatten)]
    daemon: DaemonArgs,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// A worker; its standard input is the stream to the daemon.
    #[command(hide = true)]
    Worker(Box<WorkerConfig>),
    /// Loads one plugin, and tells what it answers on standard output.
    #[command(hide = true, name = EXAMINE)]
    Examine { file: PathBuf },
}

/// A daemon's arguments: those of `uromd`, for other programs that run one to flatten into theirs.
#[derive(Debug, clap::Args)]
pub struct DaemonArgs {
    /// Where to listen: an address, or address:port. Port 0 picks one. Workers listen on the same
    /// address. Any other than a loopback address takes a key file.
    #[arg(long, value_name = "ADDR[:PORT]", default_value = "127.0.0.1", value_parser = listen_address)]
    listen: SocketAddr,
    /// The key that hosts have to prove they hold: a file of 32 to 4096 bytes, of mode 0600 and of
    /// this user, of which each host has a copy. That of the variable UROM_KEY_FILE if not given.
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The most hosts that may be connected at a time: to the daemon, and to each worker.
    #[arg(long, value_name = "N", default_value_t = Limits::default().hosts, value_parser = count())]
    max_hosts: usize,
    /// The most workers that there may be at a time. One that was told to leave counts no more, and
    /// may take some seconds to end.
    #[arg(long, value_name = "N", default_value_t = Limits::default().workers, value_parser = count())]
    max_workers: usize,
    /// The most of them that one host may use at a time.
    #[arg(long, value_name = "N", default_value_t = Limits::default().workers_per_host, value_parser = count())]
    max_workers_per_host: usize,
    /// How many seconds a host, or a worker, may be silent before it counts as lost: 3 or more, or
    /// `off` to wait for ever, as for a program in a debugger. Workers have the same patience with
    /// this program and with hosts. That of the variable UROM_PATIENCE, or 3.5, if not given.
    #[arg(long, value_name = "SECONDS")]
    patience: Option<Patience>,
    /// How many seconds a plugin may take to return from a call. A worker whose plugin takes longer
    /// ends, and its hosts get TIME_OUT. If not given, such a worker stays until its hosts leave
    /// it; after 5 s the log tells of it in any case.
    #[arg(long, value_name = "SECONDS", value_parser = seconds())]
    plugin_timeout: Option<u32>,
    /// What to log of this program: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug,
    /// 70 trace.
    #[arg(short, long, value_name = "LEVEL", default_value = "50")]
    log_level: LogLevel,
    /// What to log of the libraries it uses, on the same scale; also UCX_LOG_LEVEL of the workers,
    /// unless that is set in the environment. 40 and UCX's own default if not given.
    #[arg(long, value_name = "LEVEL")]
    sdk_log_level: Option<LogLevel>,
    /// The longest message between host and worker in bytes, UROM's header of 24 or 32 bytes
    /// included.
    #[arg(short, long, value_name = "BYTES", default_value_t = urom_abi::DEFAULT_MAX_MESSAGE, value_parser = max_message)]
    max_msg_size: usize,
    /// How many bytes of answers one host may leave unread at one worker, and all hosts of a worker
    /// four times as many. A host that leaves more is given up. At least four messages of
    /// --max-msg-size and of 8000 bytes; 64 MiB if not given, or 128 such messages if these are
    /// more.
    #[arg(long, value_name = "BYTES")]
    max_unread: Option<usize>,
    /// The CPUs hosts may give to workers, such as 0-7. Reported as given, whether or not the
    /// machine has them; workers are kept to those that exist. Those of this process if not given.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
    /// What starts each worker, such as "qemu-aarch64-static -L /usr/aarch64-linux-gnu", "valgrind
    /// -q" or "gdbserver :0". Gets the worker's program and arguments behind its own, which may be
    /// quoted as in a shell; must pass its standard input on, and stay until the worker ends.
    #[arg(long, value_name = "COMMAND", value_parser = words)]
    worker_launcher: Option<Words>,
    /// A variable of this program's environment that workers find in theirs, or one with a value;
    /// may be given several times. They have PATH, LD_LIBRARY_PATH, RUST_BACKTRACE and UCX_* in any
    /// case, a GLIBC_TUNABLES unless given here, and what their host asks for.
    #[arg(long, value_name = "NAME[=VALUE]", value_parser = OsStringValueParser::new().try_map(WorkerVariable::try_from))]
    worker_env: Vec<WorkerVariable>,
    /// What hosts may set in the environment of their workers: a name, or all names that begin so;
    /// may be given several times. They may in any case set UCX_TLS, UCX_LOG_LEVEL, what
    /// --worker-env gives, and names that begin with UROM_, but for the kit's own.
    #[arg(long, value_name = "NAME|PREFIX*", value_parser = OsStringValueParser::new().try_map(AllowedVariables::try_from))]
    worker_env_allow: Vec<AllowedVariables>,
}

#[derive(Debug, Clone)]
struct Words(Vec<OsString>);

fn words(text: &str) -> Result<Words, String> {
    let words = shell_words::split(text).map_err(|_| "a quotation mark has no end".to_owned())?;
    if words.first().is_none_or(String::is_empty) {
        return Err("expected a program and its arguments".to_owned());
    }
    Ok(Words(words.into_iter().map(OsString::from).collect()))
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

fn max_message(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (MIN_MAX_MESSAGE..=MAX_MAX_MESSAGE).contains(size));
    size.ok_or_else(|| {
        format!("expected a number of bytes from {MIN_MAX_MESSAGE} to {MAX_MAX_MESSAGE}")
    })
}

/// The program `uromd`: a daemon, or one of its workers, as the process's arguments say.
///
/// See [`main_of`].
pub fn main() -> ExitCode {
    main_of(std::env::args_os(), Vec::new())
}

/// The same, as a part of another program: `arguments` are those of `uromd`, its name the first of
/// them.
///
/// The program starts itself (`/proc/self/exe`) for each worker and to examine plugins, with the
/// arguments `words`, `worker` or `examine`, and what the process has to know. Called like this, it
/// has to come back here with all of them but `words`.
///
/// Plugins in C log with functions that only the program itself can export: it says
/// [`export_doca_log!`](crate::export_doca_log), and links with what this package's build script
/// tells as metadata.
///
/// Returns when the daemon was stopped, or the worker's last host has left. As `uromd` does, it
/// prints where it listens, or what is wrong, and ends the process when the arguments are wrong or
/// ask for help. Sets the process's `tracing` subscriber.
pub fn main_of(arguments: impl IntoIterator<Item = OsString>, words: Vec<OsString>) -> ExitCode {
    let cli = Cli::parse_from(arguments);
    let result = match cli.worker {
        Some(Role::Worker(config)) => run_worker(*config),
        Some(Role::Examine { file }) => examine::run_child(&file),
        None => run_daemon(&cli.daemon, words),
    };
    if let Err(error) = &result {
        log::write(format!("uromd: {error:#}\n"));
    }
    Log::flush();
    ExitCode::from(u8::from(result.is_err()))
}

impl DaemonArgs {
    /// The key file that is in force: that of the arguments, else the environment's.
    pub fn key_file(&self) -> Option<PathBuf> {
        self.key_file.clone().or_else(key_file_of_environment)
    }

    /// Runs a daemon on this thread until SIGTERM or SIGINT, and ends its workers.
    ///
    /// The directories and files of `plugin_path` take the place of those of `UROM_PLUGIN_PATH`,
    /// and `words` are as [`main_of`] has them. `ready` is called with the address once hosts can
    /// connect to it; they are answered when it has returned. Sets the process's `tracing`
    /// subscriber.
    ///
    /// # Errors
    /// The address is taken or is not this machine's, or takes a key and there is none; the key
    /// file is none.
    pub fn serve(
        &self,
        plugin_path: Option<Vec<PathBuf>>,
        words: Vec<OsString>,
        ready: impl FnOnce(SocketAddr),
    ) -> Result<()> {
        let sdk_log_level = self.sdk_log_level.unwrap_or(LogLevel::WARNING);
        Log::new("uromd", self.log_level, sdk_log_level).install();
        let own = process_cpus().context("asking for this process's CPUs")?;
        let least = DaemonConfig::min_max_unread(self.max_msg_size);
        if self.max_unread.is_some_and(|most| most < least) {
            bail!(
                "--max-unread has to be at least {least}, four messages of --max-msg-size and of 8000 bytes"
            );
        }
        let key = self.key_file().map(|file| Key::read(&file)).transpose()?;
        let of_environment = || Patience::of_environment().context(PATIENCE_VARIABLE);
        let config = DaemonConfig {
            listen: self.listen,
            limits: Limits {
                hosts: self.max_hosts,
                workers: self.max_workers,
                workers_per_host: self.max_workers_per_host,
            },
            key,
            patience: self.patience.map_or_else(of_environment, Ok)?,
            plugin_timeout: self.plugin_timeout,
            max_message: self.max_msg_size,
            max_unread: self.max_unread,
            cpus: self.cpus.unwrap_or(own),
            limit_workers_to_cpus: self.cpus.is_some(),
            plugin_path,
            log_level: self.log_level,
            sdk_log_level,
            worker_words: words,
            worker_env: self.worker_env.clone(),
            worker_env_allow: self.worker_env_allow.clone(),
            worker_launcher: self.worker_launcher.clone().map_or_else(Vec::new, |words| words.0),
        };
        let served = crate::daemon::run(config, self.sdk_log_level, ready);
        Log::flush();
        served
    }
}

/// `uromd` itself, which says on standard output where it listens, and nothing else.
fn run_daemon(args: &DaemonArgs, words: Vec<OsString>) -> Result<()> {
    // A daemon without standard output serves like any other.
    let own = crate::take_stdout().ok().map(Lines::to);
    let served = args.serve(None, words, |address| {
        if let Some(own) = &own {
            // Nobody may read it, which is no reason not to serve.
            own.write(format!("uromd: listening on {address}\n"));
        }
    });
    if let Some(own) = own {
        own.flush();
    }
    served
}

fn run_worker(config: WorkerConfig) -> Result<()> {
    Log::new(format!("worker {}", config.id), config.log_level, config.sdk_log_level).install();
    // `top` and `ps -A` would show the name of the link that it was started by. It works as well
    // with that.
    let _ = rustix::thread::set_name(c"uromd-worker");
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(stdin.as_fd()).is_err() {
        bail!("`uromd worker` is started by uromd itself, with a stream to it as standard input");
    }
    let stream: OwnedFd =
        stdin.as_fd().try_clone_to_owned().context("taking over the stream to the daemon")?;
    // What runs in a plugin finds nothing to read on its standard input.
    let nothing = std::fs::File::open("/dev/null").context("opening /dev/null")?;
    rustix::stdio::dup2_stdin(nothing).context("putting /dev/null in place of standard input")?;
    worker::run(config, UnixStream::from(stream), Place::Process);
    Ok(())
}
