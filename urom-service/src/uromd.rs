//! `uromd` as a function: the daemon, and `uromd worker` and `uromd examine`, which it starts.

use std::ffi::OsString;
use std::io::Write;
use std::net::SocketAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use tracing::error;
use urom_wire::key::Key;
use urom_wire::peer_timeout::{PEER_TIMEOUT_VARIABLE, PeerTimeout};

use crate::commands::{COMMANDS, help_of};
use crate::daemon::DaemonArgs;
use crate::daemon::config::{DaemonConfig, process_cpus};
use crate::daemon::emulation;
use crate::daemon::program::{self, CommandLine, OPTIONS};
use crate::examine::{self, EXAMINE};
use crate::log::{self, Lines, Log, Streams};
#[cfg(feature = "operators")]
use crate::operator::Operation;
use crate::process_one;
#[cfg(feature = "operators")]
use crate::top::Top;
use crate::worker::{self, WORKER, WorkerConfig, WorkerKind};

const CHECK: &str = "check-config";

/// Runs `uromd` as daemon or worker, according to the process's arguments; see [`main_of`].
pub fn main() -> ExitCode {
    main_of(std::env::args_os(), Vec::new())
}

/// Runs `uromd` inside another program. `arguments` are `uromd`'s, with its name first.
///
/// The program starts itself (`/proc/self/exe`) for each worker and to examine plugins. The
/// arguments are `words`, then `worker` or `examine`, then the values for that process. Started
/// like this, the program must call this function again with all arguments except `words`.
///
/// Plugins in C log with functions that only the program can export: use
/// [`export_doca_log!`](crate::export_doca_log), and link with the arguments in the metadata of
/// this package's build script.
///
/// Returns after the daemon stopped or the worker's last host left. Prints as `uromd` does. The
/// exit code is 2 for wrong arguments. Sets the process's `tracing` subscriber.
pub fn main_of(arguments: impl IntoIterator<Item = OsString>, words: Vec<OsString>) -> ExitCode {
    let arguments: Vec<_> = arguments.into_iter().skip(1).collect();
    if let [command, words @ ..] = &arguments[..]
        && let Some(help) = command.to_str().and_then(help_of)
        && words.iter().any(|word| word == "--help" || word == "-h")
    {
        return print(&format!("{}\n", help.trim_end()));
    }
    #[cfg(feature = "operators")]
    if let Some(operation) = Operation::read(&arguments) {
        let command = format!("{} ", arguments[0].display());
        let refused = |problem: String| refuse_with(&problem, &command);
        return operation.map_or_else(refused, |operation| end(operation.run()));
    }
    #[cfg(feature = "operators")]
    if let Some(top) = Top::read(&arguments) {
        return top.map_or_else(|problem| refuse_with(&problem, "top "), |top| end(top.run()));
    }
    let result = match &arguments[..] {
        [role, config @ ..] if role == WORKER => {
            match WorkerConfig::from_args(config.iter().cloned()) {
                Ok(config) => run_worker(config),
                Err(error) => return refuse(&error.to_string()),
            }
        }
        [role, file] if role == EXAMINE => examine::run_child(Path::new(file)),
        [role, options @ ..] if role == CHECK => return check(options),
        _ => match daemon_args(&arguments) {
            Err(code) => return code,
            Ok(_) if process_one::is_this() => {
                let daemon: Vec<_> = words.into_iter().chain(arguments).collect();
                match process_one::run(&daemon) {
                    Ok(code) => return code,
                    Err(error) => Err(error),
                }
            }
            Ok(args) => run_daemon(&args, words),
        },
    };
    if let Err(error) = &result {
        Log::end(&format!("{error:#}"));
    }
    Log::flush();
    ExitCode::from(u8::from(result.is_err()))
}

/// Reads a daemon's options. Prints what they ask for, or an error, and returns the exit code.
fn daemon_args(arguments: &[OsString]) -> Result<Box<DaemonArgs>, ExitCode> {
    match CommandLine::read(arguments.iter().cloned()) {
        Ok(CommandLine::Run(args, values)) => match values.first() {
            None => Ok(args),
            Some(value) => Err(refuse(&format!("unexpected argument '{}'", value.display()))),
        },
        Ok(CommandLine::Help) => Err(print(&format!("{COMMANDS}\n{OPTIONS}"))),
        Ok(CommandLine::Version) => Err(print(&format!("uromd {}\n", env!("CARGO_PKG_VERSION")))),
        Err(problem) => Err(refuse(&problem)),
    }
}

fn check(options: &[OsString]) -> ExitCode {
    let args = match daemon_args(options) {
        Ok(args) => args,
        Err(code) => return code,
    };
    let name = args.config.as_ref().map_or("the options".into(), |file| file.to_string_lossy());
    match args.daemon_config(None, Vec::new()) {
        Ok(_) => print(&format!("{name}: correct\n")),
        Err(problem) => refuse(&format!("{name}: {problem:#}")),
    }
}

fn print(text: &str) -> ExitCode {
    let mut stdout = std::io::stdout();
    let printed = stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush());
    ExitCode::from(u8::from(printed.is_err()))
}

/// Prints the result of a command to a running service.
fn end(result: Result<String, String>) -> ExitCode {
    match result {
        Ok(text) => print(&text),
        Err(problem) => {
            log::write(format!("uromd: {problem}\n"));
            Log::flush();
            ExitCode::FAILURE
        }
    }
}

fn refuse(problem: &str) -> ExitCode {
    refuse_with(problem, "")
}

/// `command` is empty, or the word of a command with help of its own and a space.
fn refuse_with(problem: &str, command: &str) -> ExitCode {
    log::write(format!("uromd: {problem}\nSee uromd {command}--help.\n"));
    Log::flush();
    ExitCode::from(2)
}

impl DaemonArgs {
    /// Runs a daemon on this thread until SIGTERM, SIGINT or SIGHUP, then ends its workers.
    ///
    /// The directories and files in `plugin_path` replace `UROM_PLUGIN_PATH`; for `words` see
    /// [`main_of`]. `ready` receives the address once hosts can connect; they are answered after it
    /// returns. Sets the process's `tracing` subscriber.
    ///
    /// # Errors
    /// The address is taken or is not this machine's, or needs a key that is missing; the key file
    /// is invalid; the library of `--emulate-exported-memory` is missing; the log cannot be opened.
    pub fn serve(
        &self,
        plugin_path: Option<Vec<PathBuf>>,
        words: Vec<OsString>,
        ready: impl FnOnce(SocketAddr),
    ) -> Result<()> {
        Log::set_up(self.log_format(), self.log_file.as_deref(), Streams::Kept)?;
        Log::new("uromd", self.log_level, self.sdk_log_level()).install();
        let served = program::run(self.daemon_config(plugin_path, words)?, ready);
        Log::flush();
        served
    }

    /// Checks the options with each other and with the environment.
    fn daemon_config(
        &self,
        plugin_path: Option<Vec<PathBuf>>,
        worker_words: Vec<OsString>,
    ) -> Result<DaemonConfig> {
        let least = self.min_max_unread();
        if self.max_unread.is_some_and(|most| most < least) {
            bail!(
                "--max-unread has to be at least {least}: four messages, each 8000 bytes longer than --max-msg-size"
            );
        }
        if self.listen.port() != 0 && self.metrics == Some(self.listen) {
            bail!(
                "--listen and --metrics have the same address {}: choose another port",
                self.listen
            );
        }
        let key = self.key_file().map(|file| Key::read(&file)).transpose()?;
        let listen = self.listen;
        if key.is_none() && !worker::is_loopback(listen.ip()) {
            bail!(
                "no key, and {listen} can be reached from other machines, whose users could then run code on this one: name \
                 a key file with --key-file, of which each host has a copy (`umask 077; head -c 32 /dev/urandom > FILE` \
                 makes one), or listen on 127.0.0.1"
            );
        }
        let of_environment = || PeerTimeout::of_environment().context(PEER_TIMEOUT_VARIABLE);
        let own = process_cpus().context("asking for this process's CPUs")?;
        Ok(DaemonConfig {
            args: self.clone(),
            key,
            peer_timeout: self.peer_timeout.map_or_else(of_environment, Ok)?,
            cpus: self.cpus.unwrap_or(own),
            plugin_path,
            worker_words,
            preload: self.emulate_exported_memory.then(emulation::library).transpose()?,
        })
    }
}

/// `uromd` itself: prints its listening address on standard output, and nothing else.
fn run_daemon(args: &DaemonArgs, words: Vec<OsString>) -> Result<()> {
    let own = crate::take_stdout().ok().map(Lines::to);
    let served = args.serve(None, words, |address| {
        if let Some(own) = &own {
            // A missing reader is not an error.
            own.write(format!("uromd: listening on {address}\n"));
        }
    });
    if let Some(own) = own {
        own.flush();
    }
    served
}

fn run_worker(config: WorkerConfig) -> Result<()> {
    let log = Log::set_up(config.log_format, config.log_file.as_deref(), Streams::Redirected);
    Log::new(format!("worker {}", config.id), config.log_level, config.sdk_log_level).install();
    if let Err(error) = log {
        // Hosts need the worker more than its log.
        error!("lines of this worker go to standard error: {error}");
    }
    // `top` and `ps -A` would show the name of the link that started it. Works without this.
    let _ = rustix::thread::set_name(c"uromd-worker");
    let stdin = std::io::stdin();
    if rustix::net::sockopt::socket_type(stdin.as_fd()).is_err() {
        bail!("`uromd worker` is started by uromd itself, with a stream to it as standard input");
    }
    let stream: OwnedFd =
        stdin.as_fd().try_clone_to_owned().context("taking over the stream to the daemon")?;
    // Plugin code must not read from the daemon's stream.
    let nothing = std::fs::File::open("/dev/null").context("opening /dev/null")?;
    rustix::stdio::dup2_stdin(nothing).context("replacing standard input by /dev/null")?;
    worker::run(config, UnixStream::from(stream), WorkerKind::Process);
    Ok(())
}
