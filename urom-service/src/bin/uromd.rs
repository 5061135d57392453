//! `uromd`: the UROM service daemon; as `uromd worker`, started by itself, one of its workers.

use std::io::Write;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Parser, Subcommand};
use urom_abi::cpu::CpuSet;
use urom_service::daemon::DaemonConfig;
use urom_service::daemon::config::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE, process_cpus};
use urom_service::log::{Log, LogLevel};
use urom_service::wire::control::DEFAULT_PORT;
use urom_service::worker::{self, Place, WorkerConfig};

// What plugins of a worker log with.
urom_service::export_doca_log!();

/// The DOCA UROM service: finds plugins in the directories of UROM_PLUGIN_PATH (separated by `;`), and starts a worker
/// process for each worker a host asks for.
#[derive(Debug, Parser)]
#[command(name = "uromd", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    worker: Option<Role>,
    #[command(flatten)]
    daemon: Daemon,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// A worker; its standard input is the stream to the daemon.
    #[command(hide = true)]
    Worker(WorkerConfig),
}

#[derive(Debug, clap::Args)]
struct Daemon {
    /// Where to listen: an address, or address:port. Port 0 picks one. Workers listen on the same address.
    #[arg(long, value_name = "ADDR[:PORT]", default_value = "127.0.0.1", value_parser = listen_address)]
    listen: SocketAddr,
    /// What to log of this program: 10 disable, 20 crit, 30 error, 40 warning, 50 info, 60 debug, 70 trace.
    #[arg(short, long, value_name = "LEVEL", default_value = "50")]
    log_level: LogLevel,
    /// What to log of the libraries it uses, on the same scale; also UCX_LOG_LEVEL of the workers, unless that is set
    /// in the environment. 40 and UCX's own default if not given.
    #[arg(long, value_name = "LEVEL")]
    sdk_log_level: Option<LogLevel>,
    /// The longest message between host and worker in bytes, UROM's header of 24 or 32 bytes included.
    #[arg(short, long, value_name = "BYTES", default_value_t = urom_abi::DEFAULT_MAX_MESSAGE, value_parser = max_message)]
    max_msg_size: usize,
    /// The CPUs hosts may give to workers, such as 0-7. Reported as given, whether or not the machine has them; workers
    /// are kept to those that exist. Those of this process if not given.
    #[arg(long, value_name = "LIST")]
    cpus: Option<CpuSet>,
}

fn listen_address(text: &str) -> Result<SocketAddr, String> {
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
    let address =
        text.parse().or_else(|_| bare.parse::<IpAddr>().map(|ip| SocketAddr::new(ip, DEFAULT_PORT)));
    address.map_err(|_| "expected an address such as 127.0.0.1, 0.0.0.0:18700 or [::1]:0".to_owned())
}

fn max_message(text: &str) -> Result<usize, String> {
    let size = text.parse().ok().filter(|size| (MIN_MAX_MESSAGE..=MAX_MAX_MESSAGE).contains(size));
    size.ok_or_else(|| format!("expected a number of bytes from {MIN_MAX_MESSAGE} to {MAX_MAX_MESSAGE}"))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.worker {
        Some(Role::Worker(config)) => run_worker(config),
        None => run_daemon(&cli.daemon),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("uromd: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_daemon(args: &Daemon) -> Result<()> {
    let sdk_log_level = args.sdk_log_level.unwrap_or(LogLevel::WARNING);
    Log::new("uromd", args.log_level, sdk_log_level).install();
    let own = process_cpus().context("asking for this process's CPUs")?;
    let config = DaemonConfig {
        listen: args.listen,
        max_message: args.max_msg_size,
        cpus: args.cpus.unwrap_or(own),
        limit_workers_to_cpus: args.cpus.is_some(),
        plugin_path: None,
        log_level: args.log_level,
        sdk_log_level,
    };
    urom_service::daemon::run(config, args.sdk_log_level, |address| {
        let mut out = std::io::stdout();
        // Nobody may read it, which is no reason not to serve.
        let _ = writeln!(out, "uromd: listening on {address}").and_then(|()| out.flush());
    })
}

fn run_worker(config: WorkerConfig) -> Result<()> {
    Log::new(format!("worker {}", config.id), config.log_level, config.sdk_log_level).install();
    // The stream closes when the daemon dies, which ends the worker in order; this is for a plugin that hangs.
    rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::TERM))
        .context("asking to end with the daemon")?;
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
