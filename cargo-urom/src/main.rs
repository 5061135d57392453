#![doc = include_str!("../README.md")]

mod build;
mod call;
mod check;
mod description;
mod elf;
mod exit;
mod inspect;
mod new;
mod output;
mod plugin_path;
mod replay;
mod run;
mod show;
mod trace;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

// Plugins log with this function if this program is a service or a worker.
urom_service::export_doca_log!();
urom_service::remember_hangup!();

/// The internal verb that runs this program as `uromd`. It is not in the help.
const UROMD: &str = "uromd";

/// The arguments from cargo: `cargo-urom urom VERB`. The word `urom` may be missing.
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
    /// Builds the plugin's .so with the file name that services expect, and checks it.
    Build(build::BuildArgs),
    /// Checks whether a service accepts a .so, and suggests remedies.
    Check(check::CheckArgs),
    /// Shows a plugin's commands and notifications without loading the file.
    Inspect(inspect::InspectArgs),
    /// Sends a command to a plugin and prints the answer.
    Call(call::CallArgs),
    /// Runs a service with a plugin until Ctrl-C.
    Run(run::RunArgs),
    /// Lists the commands and answers of a worker's recording.
    Show(show::ShowArgs),
    /// Sends recorded commands to a plugin, and compares the answers.
    Replay(replay::ReplayArgs),
    /// Runs a host program, and writes a trace of its commands for Perfetto.
    Trace(trace::TraceArgs),
    /// Shows a running service's commands and workers, live or once.
    Top(TopArgs),
}

/// The words of `uromd top`, which also prints its help.
#[derive(Debug, clap::Args)]
#[command(
    disable_help_flag = true,
    override_usage = "cargo urom top [OPTIONS]",
    after_help = "The options: cargo urom top --help"
)]
struct TopArgs {
    #[arg(hide = true, trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

/// Runs this program as `uromd`, with these arguments after its name.
fn uromd(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let name = OsString::from(UROMD);
    let arguments = [name.clone()].into_iter().chain(arguments);
    urom_service::uromd::main_of(arguments, vec![name])
}

fn main() -> ExitCode {
    urom_os::signals::receive_ends();
    let mut arguments: Vec<_> = std::env::args_os().collect();
    if arguments.get(1).is_some_and(|word| word == "urom") {
        arguments.remove(1);
    }
    if arguments.get(1).is_some_and(|word| word == UROMD) {
        return uromd(arguments.into_iter().skip(2));
    }
    let verb = Cli::parse_from(arguments).verb;
    // These programs write to standard output themselves.
    if !matches!(verb, Verb::Top(_) | Verb::Trace(_)) {
        output::own_stdout();
    }
    let result = match verb {
        Verb::New(args) => new::run(&args),
        Verb::Build(args) => build::run(&args),
        Verb::Check(args) => check::run(&args),
        Verb::Inspect(args) => inspect::run(&args),
        Verb::Call(args) => call::run(&args),
        Verb::Run(args) => run::run(&args),
        Verb::Replay(args) => replay::run(&args),
        Verb::Show(args) => show::run(&args),
        Verb::Trace(args) => trace::run(&args),
        // It prints its own errors.
        Verb::Top(args) => return uromd(["top".into()].into_iter().chain(args.words)),
    };
    let code = result.unwrap_or_else(|error| {
        // A closed standard output is not an error.
        if !output::is_closed(&error) {
            output::error(&error);
        }
        if exit::is_usage(&error) { exit::USAGE } else { exit::FAILED }
    });
    code.into()
}
