//! A service for one replay: its worker is a process, so a plugin that crashes does not end the
//! replay without a word.

use std::ffi::OsString;
use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::JoinHandle;

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Signal, getpid, kill_process};
use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_host::{Library, Service};
use urom_service::{CommandLine, MAX_MAX_MESSAGE};

use crate::{UROMD, plugin_path};

/// Size of the longest header in bytes.
const HEADER: usize = 32;

/// A daemon on a thread of this process.
#[derive(Debug)]
pub(super) struct ReplayDaemon(JoinHandle<()>);

/// Starts a daemon, and connects to it. `longest` is the longest message in bytes.
pub(super) fn start(plugin: &Path, longest: usize) -> Result<(ReplayDaemon, Service)> {
    plugin_path::fresh(plugin)?;
    let path = plugin_path::only(plugin)?;
    let limit = DEFAULT_MAX_MESSAGE.max(longest + HEADER).min(MAX_MAX_MESSAGE);
    let size = format!("--max-msg-size={limit}");
    let words = ["--listen=127.0.0.1:0", &size, "--log-level=40"].map(OsString::from);
    let CommandLine::Run(daemon, _) = CommandLine::read(words).map_err(|why| anyhow!(why))? else {
        bail!("options for a service are missing");
    };
    let key_file = daemon.key_file();
    let (started, starts) = channel();
    let failed = started.clone();
    let serve = move || {
        let ready = |address| {
            let _ = started.send(Ok(address));
        };
        if let Err(error) = daemon.serve(Some(vec![path]), vec![UROMD.into()], ready) {
            let _ = failed.send(Err(error));
        }
    };
    let thread = std::thread::Builder::new().name("urom-daemon".to_owned()).spawn(serve)?;
    let address = starts.recv().context("the service ended at once")??;
    // The environment may name another library, but the service is of this build.
    let mut builder = Service::builder().library(Library::builtin()).address(address.to_string());
    builder = builder.max_message_size(limit);
    if let Some(file) = key_file {
        builder = builder.key_file(file);
    }
    let service =
        builder.connect_blocking().context("the service of the replay does not answer")?;
    Ok((ReplayDaemon(thread), service))
}

impl ReplayDaemon {
    /// Ends the daemon and its workers.
    pub(super) fn stop(self) {
        // The daemon receives the signal, which otherwise would end this process.
        if kill_process(getpid(), Signal::TERM).is_ok() {
            let _ = self.0.join();
        }
    }
}
