//! The daemon of the program `uromd`: its options, and its access for operators.

mod address_file;
mod config_file;
#[cfg(feature = "operators")]
mod control;
#[cfg(feature = "operators")]
mod exposition;
#[cfg(feature = "operators")]
mod http;
mod operators;
mod option_value;
mod options;

use std::io::{self, ErrorKind};
use std::net::SocketAddr;
use std::sync::Arc;

use anyhow::{Context, Result, anyhow};
use tokio::net::TcpListener;
use tokio::signal::unix::{SignalKind, signal};
use tracing::info;
use urom_os::signals;

use address_file::AddressFile;
use operators::Operators;
pub use options::{CommandLine, OPTIONS};
#[cfg(feature = "operators")]
pub(crate) use options::{METRICS_PORT, socket_path};

use super::config::DaemonConfig;
use super::process::Reaper;
use super::{Launcher, Manager, descriptors, serve};
use crate::entrance::let_wait;
use crate::examine::this_program;
use crate::hangup;
use crate::inherited::close_at_exec;

#[cfg(not(feature = "operators"))]
pub(crate) const WITHOUT_OPERATORS: &str = "this uromd is built without the feature `operators`";

/// Runs a daemon on this thread, with workers as processes of this program, until SIGTERM, SIGINT
/// or SIGHUP (unless ignored at the start). Calls `ready` with the address once hosts can connect.
///
/// # Errors
/// The address is taken or is not this machine's.
pub(crate) fn run(config: DaemonConfig, ready: impl FnOnce(SocketAddr)) -> Result<()> {
    signals::receive_ends();
    close_at_exec();
    descriptors::allow(config.args.limits);
    ucx::require_descriptors(descriptors::OWN)?;
    this_program(&[])?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(async {
        let listen = config.args.listen;
        // Before the port, so that a second daemon's error names the first.
        let address_file =
            config.args.address_file.as_deref().map(AddressFile::claim).transpose()?;
        let listener =
            TcpListener::bind(listen).await.map_err(|error| cannot_listen(listen, error))?;
        let_wait(&listener);
        let (mut terminate, mut interrupt) =
            (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let mut hangup = hangup::is_received().then(|| signal(SignalKind::hangup())).transpose()?;
        let operators = Operators::listen(&config.args).await?;
        let reloads = hangup.take_if(|_| !hangup::ends_the_daemon());
        let address = listener.local_addr()?;
        if let Some(file) = &address_file {
            file.write(address)?;
        }
        let stop = async move {
            let name = tokio::select! {
                _ = terminate.recv() => "SIGTERM",
                _ = interrupt.recv() => "SIGINT",
                () = hangup::received(&mut hangup) => "SIGHUP",
            };
            info!("received {name}");
            // New hosts find no file, rather than a daemon that refuses them.
            drop(address_file);
        };
        let reaper = Reaper::start().context("the thread for taking back workers is missing")?;
        ready(address);
        let config = Arc::new(config);
        let launcher = Launcher::Process { config: Arc::clone(&config), reaper };
        let manager = Manager::of_environment();
        let operators = |observatory: &_| operators.serve(observatory, reloads);
        Ok(serve(listener, config, launcher, manager, operators, stop).await?)
    });
    // A plugin that hangs during listing keeps its thread, but not the daemon.
    runtime.shutdown_background();
    served
}

fn cannot_listen(address: SocketAddr, error: io::Error) -> anyhow::Error {
    let advice = match error.kind() {
        ErrorKind::AddrInUse => {
            ": another program, maybe another uromd, listens there; choose another address with --listen"
        }
        ErrorKind::AddrNotAvailable | ErrorKind::PermissionDenied => {
            ": choose another address with --listen"
        }
        _ => "",
    };
    anyhow!(error).context(format!("cannot listen on {address}{advice}"))
}
