#![doc = include_str!("../README.md")]

mod build;
mod call;
mod check;
mod description;
mod elf;
mod exit;
mod inspect;
mod message;
mod new;
mod output;
mod plugin_path;
mod run;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

// Plugins log with this function if this program is a service or one of its workers.
urom_service::export_doca_log!();
urom_service::remember_hangup!();

/// The verb that makes this program `uromd`. Only the program itself uses it, so no help names it.
const UROMD: &str = "uromd";

/// As cargo calls it: `cargo-urom urom VERB`; also without the word in between.
#[derive(Debug, Parser)]
#[command(name = "cargo urom", bin_name = "cargo urom", version, about, subcommand_required = true)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Makes a workspace for a new plugin: protocol, plugin and host program.
    New(new::NewArgs),
    /// Builds the plugin's .so under the name a service knows it by, and checks it.
    Build(build::BuildArgs),
    /// Says whether a service will take a .so, and what to do where it will not.
    Check(check::CheckArgs),
    /// Shows a plugin's commands and notifications, from the file alone.
    Inspect(inspect::InspectArgs),
    /// Sends a command to a plugin and prints what it answers.
    Call(call::CallArgs),
    /// Runs a service with a plugin until Ctrl-C.
    Run(run::RunArgs),
}

fn main() -> ExitCode {
    urom_os::signals::receive_ends();
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|word| word == "urom") {
        arguments.remove(1);
    }
    if arguments.get(1).is_some_and(|word| word == UROMD) {
        return urom_service::uromd::main_of(arguments.into_iter().skip(1), vec![UROMD.into()]);
    }
    let verb = Cli::parse_from(arguments).verb;
    output::own_stdout();
    let result = match verb {
        Verb::New(args) => new::run(&args),
        Verb::Build(args) => build::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Inspect(args) => inspect::run(&args),
        Verb::Call(args) => call::run(&args),
        Verb::Run(args) => run::run(&args),
    };
    let code = result.unwrap_or_else(|error| {
        // The reader of standard output has closed it: this is no error to report.
        if !output::is_closed(&error) {
            output::error(&error);
        }
        if exit::is_usage(&error) { exit::USAGE } else { exit::FAILED }
    });
    code.into()
}
