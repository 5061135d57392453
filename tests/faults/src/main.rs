//! `urom-faults [--rounds N] [--commands N] [--seed N] [--json FILE] [SUITE..]`: runs the given
//! suites, or all. `urom-faults host` and `urom-faults rude` are its child processes.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Parser, Subcommand};
use time::OffsetDateTime;
use urom_faults::rude::{self, Manner};
use urom_faults::{Extent, Length, Outcome, SUITES, Suite, host, seed_from};

/// Exit code when only time limits were exceeded.
const LATE: u8 = 3;

/// Breaks processes and links of a running service, and checks all other processes. Exits with 3 if
/// only time limits were exceeded.
#[derive(Debug, Parser)]
#[command(name = "urom-faults", args_conflicts_with_subcommands = true, after_help = suites())]
struct Cli {
    #[command(subcommand)]
    role: Option<Role>,
    /// Number of rounds, for suites with rounds.
    #[arg(long, value_name = "N")]
    rounds: Option<u32>,
    /// Number of loopbacks, for the suite `endurance`.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    commands: Option<u64>,
    /// Seed of all random choices; a new seed by default.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run the short form, as the tests do.
    #[arg(long)]
    short: bool,
    /// File for the measurements: one JSON array of figures, as the benchmark reads them.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Suites to run; all by default.
    #[arg(value_name = "SUITE", value_parser = suite)]
    suites: Vec<Suite>,
}

#[derive(Debug, Subcommand)]
enum Role {
    /// A host that obeys orders on its standard input.
    #[command(hide = true)]
    Host,
    /// A host that misbehaves at an address and a worker.
    #[command(hide = true)]
    Rude { address: SocketAddr, worker: u64, manner: Manner },
}

fn suites() -> String {
    let lines = SUITES.iter().map(|suite| format!("  {:<10} {}", suite.name, suite.about));
    format!("Suites:\n{}", lines.collect::<Vec<_>>().join("\n"))
}

fn suite(name: &str) -> Result<Suite, String> {
    let found = SUITES.iter().find(|suite| suite.name == name).copied();
    found.ok_or_else(|| format!("no suite has this name\n\n{}", suites()))
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.role {
        Some(Role::Host) => host::serve().map(|()| ExitCode::SUCCESS),
        Some(Role::Rude { address, worker, manner }) => {
            rude::serve(address, worker, manner).map(|()| ExitCode::SUCCESS)
        }
        None => run(&cli),
    };
    match result {
        Ok(code) => code,
        Err(error) => {
            eprintln!("urom-faults: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(cli: &Cli) -> Result<ExitCode> {
    let length = if cli.short { Length::Short } else { Length::Full };
    let extent =
        Extent { length, rounds: cli.rounds, commands: cli.commands, seed: seed_from(cli.seed)? };
    let chosen = if cli.suites.is_empty() { SUITES } else { &cli.suites };
    let (mut bad, mut late, mut measured, mut rows) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for suite in chosen {
        println!("\n{}: {}", suite.name, suite.about);
        let begin = Instant::now();
        let outcome = suite.run(&extent);
        let failure = match &outcome {
            Ok(outcome) => outcome.check(suite.name).err().map(|error| error.to_string()),
            Err(error) => Some(format!("{error:#}")),
        };
        match (&failure, &outcome) {
            (Some(failure), _) => println!("{}: FAILED: {failure}", suite.name),
            (None, Ok(Outcome::LeftOut(reason))) => println!("left out: {}: {reason}", suite.name),
            (None, _) => {
                println!("{}: passed in {:.0} s", suite.name, begin.elapsed().as_secs_f64())
            }
        }
        let is_late = outcome.as_ref().is_ok_and(|outcome| !outcome.late().is_empty());
        if failure.is_some() {
            if is_late { late.push(suite.name) } else { bad.push(suite.name) }
        }
        let done = outcome.as_ref().map_or("", |outcome| outcome.done());
        let result = match (&outcome, failure.is_some()) {
            (Ok(Outcome::LeftOut(_)), _) => "left out",
            (_, false) => "passed",
            (_, true) if is_late => "too late",
            (_, true) => "failed",
        };
        let (date, took) = (OffsetDateTime::now_utc().date(), begin.elapsed().as_secs_f64());
        rows.push(format!("| {date} | `{}` | {took:.0} | {done} | {result} |", suite.name));
        if let Ok(Outcome::Passed { figures, .. }) = outcome {
            figures.iter().for_each(|figure| println!("  {figure}"));
            measured.extend(figures);
        }
    }
    // For the table in this package's README.
    println!(
        "\n| date | suite | seconds | what was done | result |\n| --- | --- | --- | --- | --- |"
    );
    rows.iter().for_each(|row| println!("{row}"));
    if let Some(file) = &cli.json {
        let text = serde_json::to_string_pretty(&measured)?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    ensure!(bad.is_empty(), "failed: {}", [bad, late].concat().join(", "));
    if !late.is_empty() {
        eprintln!("urom-faults: too late: {}", late.join(", "));
        return Ok(ExitCode::from(LATE));
    }
    Ok(ExitCode::SUCCESS)
}
