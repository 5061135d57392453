//! `cargo urom run`: runs a service with a plugin.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use urom_host::{Library, Service};
use urom_service::{CommandLine, OPTIONS};

use crate::elf::ElfMachine;
use crate::exit::usage;
use crate::{check, exit, output, plugin_path};

const ABOUT: &str = "\
Runs a service with a plugin until Ctrl-C

Usage: cargo urom run [OPTIONS] DIR|FILE.so

";

fn details() -> String {
    const PLUGINS: &str = "  DIR|FILE.so\n      A plugin's .so, or a directory of them.\n\n";
    format!("{PLUGINS}{OPTIONS}\n{}", include_str!("help.txt"))
}

#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "cargo urom run [OPTIONS] DIR|FILE.so",
    after_help = details()
)]
pub(crate) struct RunArgs {
    /// Options of `uromd`, and the plugins.
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub(crate) fn run(args: &RunArgs) -> Result<u8> {
    let show = |text: String| output::result(&text).map(|()| exit::DONE);
    let (daemon, plugins) = match CommandLine::read(args.words.iter().cloned()).map_err(usage)? {
        CommandLine::Run(daemon, plugins) => (daemon, plugins),
        CommandLine::Help => return show(format!("{ABOUT}{}", details())),
        CommandLine::Version => {
            return show(format!("cargo urom {}\n", env!("CARGO_PKG_VERSION")));
        }
    };
    let [plugins] = &plugins[..] else {
        return Err(usage(match plugins.get(1) {
            Some(word) => format!("unexpected argument '{}'", word.display()),
            None => "name the plugins: DIR or FILE.so".to_owned(),
        }));
    };
    // Links are not resolved: the link's name is the plugin's.
    let path = std::path::absolute(Path::new(plugins))?;
    let kind =
        std::fs::metadata(&path).with_context(|| format!("cannot read {}", path.display()))?;
    if !kind.is_dir() {
        // A service would only log the error, and run without plugins.
        plugin_path::fresh(&path)?;
        let report = check::examine(&path, ElfMachine::ours(), None, check::LIMIT)?;
        if report.is_bad() {
            report.print_findings();
            return Ok(exit::FAILED);
        }
    }
    let key_file = daemon.key_file();
    daemon.serve(Some(vec![path]), vec![crate::UROMD.into()], |address| {
        // Another thread, because a write blocks without a reader.
        std::thread::spawn(move || {
            say(&format!("listening on {address}"));
            tell_plugins(address, key_file);
        });
    })?;
    Ok(exit::DONE)
}

fn tell_plugins(address: SocketAddr, key_file: Option<PathBuf>) {
    // The environment may name another library, but the service is of this build.
    let mut builder = Service::builder().library(Library::builtin()).address(address.to_string());
    if let Some(file) = key_file {
        builder = builder.key_file(file);
    }
    let service = match builder.connect_blocking() {
        Ok(service) => service,
        // The log has the reason, or the service was just stopped.
        Err(error) => {
            return output::warning(&format!("cannot ask the service for its plugins: {error}"));
        }
    };
    for plugin in service.plugins() {
        say(&format!(
            "serving {}, version {}",
            urom_message::plain(plugin.name()),
            plugin.version()
        ));
    }
    match service.plugins().is_empty() {
        true => output::warning(
            "it lacks plugins, and hosts will find none: there is no .so in that directory, or \
             the lines above say what is wrong with it",
        ),
        false => say("Ctrl-C ends it"),
    }
}

fn say(line: &str) {
    let _ = output::result(&format!("{line}\n"));
}
