//! Measures the kit against raw UCX and others, and compares the figures with the budgets.
//!
//! `cargo xtask bench` runs it. Both sides of a comparison run in the same pinned processes, in
//! rounds of alternating order; the processes are started several times.

mod budget;
mod cache_line;
mod child;
mod cores;
mod distribution;
mod driven;
mod figure;
mod in_c;
mod launch;
mod machine;
mod party;
mod process;
mod processes;
mod report;
mod run;
mod statistics;
mod suites;
mod transport;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use clap::builder::RangedU64ValueParser;

use process::Process;
use report::Summary;
use run::LAUNCHES;

/// Measures the kit, writes target/bench/summary.json and target/bench/report.html, and prints the
/// budget table. Fails when a budget is missed, a suite fails or the run takes too long. A full run
/// of all suites also fails when a budget is unmeasured.
#[derive(Parser)]
struct Arguments {
    /// Suites to run; all by default. `--list` names them.
    suites: Vec<String>,
    /// Fewer and shorter rounds, for a first look; do not quote the figures.
    #[arg(long)]
    quick: bool,
    /// Number of launches: 5, or 1 for a first look. A full run of all suites needs at least 5.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    launches: Option<usize>,
    /// Writes the last full run's budget table into docs/src/performance.md, and measures nothing.
    #[arg(long, conflicts_with_all = ["suites", "quick", "launches"])]
    record: bool,
    /// Lists the suites, and measures nothing.
    #[arg(long)]
    list: bool,
    /// Role of a child process.
    #[arg(long, hide = true, value_name = "JSON")]
    process: Option<String>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some(process) = &arguments.process {
        work(serde_json::from_str(process).context("a malformed process")?)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.list {
        suites::SUITES.iter().for_each(|suite| println!("{:<14} {}", suite.name, suite.about));
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.record {
        report::record(&Summary::read()?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let summary = measure(&arguments)?;
    let page = report::write(&summary)?;
    println!("{}\n{}\n\n{}", summary.line(), page.display(), report::budgets(&summary));
    summary.reasons().iter().for_each(|reason| println!("FAILED: {reason}"));
    Ok(if summary.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn work(process: Process) -> Result<()> {
    match process {
        Process::Launch { suite, part, launch } => {
            let parts = suites::find(&suite)?.parts;
            let part = parts.get(part).context("the suite has no such part")?;
            child::answer(&(part.measure)(&launch)?)
        }
        Process::Host(arguments) => suites::loopback::host(&arguments),
        Process::Tonic(core) => suites::peers::serve(core),
        Process::Gated => suites::instructions::host(),
        Process::Counted(counted, rounds) => {
            suites::codec::run(serde_json::from_value(counted)?, rounds)
        }
    }
}

fn measure(arguments: &Arguments) -> Result<Summary> {
    let selected = suites::select(&arguments.suites)?;
    let launches = arguments.launches.unwrap_or(if arguments.quick { 1 } else { LAUNCHES });
    let (mut figures, mut failures) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    for suite in &selected {
        let start = Instant::now();
        match run::measure(suite, arguments.quick, launches) {
            Ok(measured) => figures.extend(measured),
            Err(error) => failures.push(format!("suite {}: {error:#}", suite.name)),
        }
        eprintln!("{}: {:.0} s", suite.name, start.elapsed().as_secs_f64());
    }
    Ok(Summary {
        machine: machine::describe()?,
        quick: arguments.quick,
        all_suites: selected.len() == suites::SUITES.len(),
        launches,
        seconds: begin.elapsed().as_secs_f64(),
        failures,
        figures,
    })
}
