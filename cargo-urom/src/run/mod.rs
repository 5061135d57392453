//! `cargo urom run`: a service with a plugin.

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::{Context, Result};
use urom_host::{Library, ServiceBuilder};
use urom_service::uromd::DaemonArgs;

use crate::elf::Machine;
use crate::{check, exit, output, plugin_path};

/// The verb's arguments.
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
    // A link has its own name, which is the plugin's.
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
        // Nobody may read what it says, and then it waits. The service asks itself as any other
        // host.
        std::thread::spawn(move || {
            say(&format!("listening on {address}"));
            tell_plugins(address, key_file);
        });
    })?;
    Ok(exit::DONE)
}

/// Asks the service what it has, as a host does.
fn tell_plugins(address: SocketAddr, key_file: Option<PathBuf>) {
    // Whatever the environment names, the service is of this build.
    let mut builder = ServiceBuilder::with_library(Library::builtin()).address(address.to_string());
    if let Some(file) = key_file {
        builder = builder.key_file(file);
    }
    let service = match builder.connect() {
        Ok(service) => service,
        // Why is in the log, or it was stopped just now.
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

/// Nobody may read it, which is no reason not to serve.
fn say(line: &str) {
    let _ = output::result(&format!("{line}\n"));
}
