//! `cargo urom run`: a service with a plugin.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use urom_host::{Library, ServiceBuilder};
use urom_service::daemon::DaemonArgs;

use crate::elf::Machine;
use crate::{check, exit, output, plugin_path};

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct Args {
    /// A plugin's .so, or a directory of them.
    #[arg(value_name = "DIR|FILE.so")]
    plugins: PathBuf,
    #[command(flatten)]
    daemon: DaemonArgs,
}

pub(crate) fn run(args: &Args) -> Result<u8> {
    // A link is not resolved: its own name is the plugin's.
    let path = std::path::absolute(&args.plugins)?;
    let kind =
        std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if !kind.is_dir() {
        // A service would only log what is wrong, and serve nothing.
        plugin_path::fresh(&path)?;
        let report = check::examine(&path, Machine::ours(), None, check::LIMIT)?;
        if report.is_bad() {
            report.print_findings();
            return Ok(exit::FAILED);
        }
    }
    let key_file = args.daemon.key_file();
    args.daemon.serve(Some(vec![path]), vec![crate::UROMD.into()], |address| {
        // Writing blocks if nobody reads, so another thread does it. It asks the service as a host.
        std::thread::spawn(move || {
            say(&format!("listening on {address}"));
            tell_plugins(address, key_file);
        });
    })?;
    Ok(exit::DONE)
}

fn tell_plugins(address: SocketAddr, key_file: Option<PathBuf>) {
    // The environment may name another library, but the service is of this build.
    let mut builder = ServiceBuilder::with_library(Library::builtin()).address(address.to_string());
    if let Some(file) = key_file {
        builder = builder.key_file(file);
    }
    let service = match builder.connect() {
        Ok(service) => service,
        // The log has the reason, or the service was stopped just now.
        Err(error) => {
            return output::warning(&format!("cannot ask the service for its plugins: {error}"));
        }
    };
    for plugin in service.plugins() {
        say(&format!("serving {}, version {}", output::plain(plugin.name()), plugin.version()));
    }
    match service.plugins().is_empty() {
        true => output::warning(
            "it has no plugins, and hosts will find none: there is no .so in that directory, or \
             the lines above say what is wrong with it",
        ),
        false => say("Ctrl-C ends it"),
    }
}

/// Prints a line. The service goes on if nobody reads it.
fn say(line: &str) {
    let _ = output::result(&format!("{line}\n"));
}
