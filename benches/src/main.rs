//! Measures the kit against raw UCX and others, and holds the figures against the budgets.
//!
//! `cargo xtask bench` runs it. What is compared is measured in the same processes, round by round in alternating order,
//! pinned, and started anew several times, because the placement of memory and threads differs from launch to launch.

mod budget;
mod cache_line;
mod child;
mod cores;
mod distribution;
mod extent;
mod figure;
mod machine;
mod processes;
mod report;
mod statistics;
mod suites;
mod transport;

use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use clap::builder::RangedU64ValueParser;

use extent::Extent;
use machine::Machine;
use report::Summary;

/// Measures the kit, writes target/bench/summary.json and target/bench/report.html, and prints the budget table. Fails when a
/// budget is missed, a suite fails or all of it takes too long, and when a full run of all suites leaves a budget unmeasured.
#[derive(Parser)]
struct Arguments {
    /// Which suites; all without one. `--list` says which there are.
    suites: Vec<String>,
    /// Fewer and shorter rounds: a first look, not figures to quote.
    #[arg(long)]
    quick: bool,
    /// How many times everything is started anew: 5, or 1 for a first look. A full run of all suites takes at least 5.
    #[arg(long, value_name = "N", value_parser = RangedU64ValueParser::<usize>::new().range(1..))]
    launches: Option<usize>,
    /// Writes the last full run's figures into docs/src/performance.md, and measures nothing.
    #[arg(long, conflicts_with_all = ["suites", "quick", "launches"])]
    record: bool,
    /// Says which suites there are, and measures nothing.
    #[arg(long)]
    list: bool,
    /// A part of a suite in a process of its own; what the program calls itself with.
    #[arg(long, hide = true, num_args = 2, value_names = ["SUITE", "ARGUMENTS"])]
    child: Option<Vec<String>>,
}

fn main() -> Result<ExitCode> {
    let arguments = Arguments::parse();
    if let Some([suite, child_arguments]) = arguments.child.as_deref() {
        let child = suites::find(suite)?.child.context("this suite has no part of that kind")?;
        child(child_arguments)?;
        return Ok(ExitCode::SUCCESS);
    }
    if arguments.list {
        suites::SUITES.iter().for_each(|suite| println!("{:<14} {}", suite.name, suite.about));
        return Ok(ExitCode::SUCCESS);
    }
    let directory = report::directory()?;
    let (json, html) = (directory.join("summary.json"), directory.join("report.html"));
    if arguments.record {
        report::record(&Summary::read(&json)?)?;
        return Ok(ExitCode::SUCCESS);
    }
    let summary = measure(&arguments)?;
    std::fs::create_dir_all(&directory)
        .with_context(|| format!("cannot make {}", directory.display()))?;
    summary.write(&json)?;
    std::fs::write(&html, report::page(&summary))
        .with_context(|| format!("cannot write {}", html.display()))?;
    println!("{}; {}\n{}\n", summary.machine.line(), summary.took(), html.display());
    report::table::print(&summary.budgets);
    let too_long = summary.too_long();
    summary.failures.iter().chain(&too_long).for_each(|failure| println!("FAILED: {failure}"));
    Ok(if summary.success() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs the suites that were asked for. One that fails is told in the summary, and leaves its rows without a measurement.
fn measure(arguments: &Arguments) -> Result<Summary> {
    let selected = suites::select(&arguments.suites)?;
    let extent = Extent::new(arguments.quick, arguments.launches)?;
    let (mut figures, mut failures) = (Vec::new(), Vec::new());
    let begin = Instant::now();
    for suite in &selected {
        let start = Instant::now();
        match (suite.run)(&extent) {
            Ok(measured) => figures.extend(measured),
            Err(error) => failures.push(format!("suite {}: {error:#}", suite.name)),
        }
        eprintln!("{}: {:.0} s", suite.name, start.elapsed().as_secs_f64());
    }
    let all_suites = selected.len() == suites::SUITES.len();
    if all_suites && !arguments.quick {
        failures.extend(report::too_few(extent.launches));
    }
    let summary = Summary {
        machine: Machine::find()?,
        quick: arguments.quick,
        all_suites,
        launches: extent.launches,
        seconds: begin.elapsed().as_secs_f64(),
        failures,
        figures,
        budgets: Vec::new(),
    };
    Ok(summary.judged())
}
