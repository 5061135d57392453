//! Both processes, on embedded services and on one `uromd`.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Output, Stdio};

use anyhow::{Context, Result};
use urom_tests::{PluginDirectory, Uromd, free_place};

const OPERATIONS: [&str; 9] = [
    "send, receive",
    "send with immediate, receive",
    "send of an empty message, receive",
    "send of a list, receive into a list",
    "write",
    "write with immediate, receive",
    "read",
    "fetch and add",
    "compare and swap",
];

fn start(plugins: &PluginDirectory, arguments: &[&str]) -> Result<Child> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdma"));
    command.env_remove("DOCA_UROM_SERVICE_FILE").env("UROM_PLUGIN_PATH", plugins.variable());
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    Ok(command.spawn()?)
}

/// Runs both to their end.
fn both(plugins: &PluginDirectory, arguments: &[&str]) -> Result<[Output; 2]> {
    let place = free_place()?;
    let side =
        |rank| start(plugins, &[&["--rendezvous", &place, "--rank", rank], arguments].concat());
    let (first, second) = (side("0")?, side("1")?);
    Ok([first.wait_with_output()?, second.wait_with_output()?])
}

/// What the process that asks printed, without UCX's lines.
fn table([answers, asks]: &[Output; 2]) -> Vec<String> {
    for output in [answers, asks] {
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{errors}");
    }
    let text = String::from_utf8_lossy(&asks.stdout);
    text.lines().filter(|line| !line.contains(" UCX  ")).map(str::to_owned).collect()
}

#[test]
fn every_operation_has_a_line_on_embedded_services_and_on_a_common_uromd() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdma"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    for arguments in [&[][..], &["--service", daemon.address()]] {
        let lines = table(&both(&plugins, arguments)?);
        assert_eq!(lines.len(), 1 + OPERATIONS.len(), "{lines:?}");
        for (line, operation) in lines[1..].iter().zip(OPERATIONS) {
            assert!(line.trim_start().starts_with(operation), "{line}");
            assert!(line.ends_with("ok") || line.contains("found 0x"), "{line}");
        }
    }
    Ok(())
}

#[test]
fn each_size_of_each_operation_has_sound_figures() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdma"])?;
    let lines = table(&both(&plugins, &["--perf", "--time", "1"])?);
    let figures: Vec<Vec<f64>> = lines
        .iter()
        .map(|line| line.split_whitespace().filter_map(|cell| cell.parse().ok()).collect())
        .filter(|figures: &Vec<f64>| matches!(figures.len(), 7 | 11))
        .collect();
    // Write, read and send, by latency and by bandwidth, in seven sizes.
    assert_eq!(figures.len(), 3 * 2 * 7, "{lines:#?}");
    for row in figures {
        // But for the deviation of a single time.
        let sound = row.iter().filter(|figure| figure.is_finite() && **figure > 0.0).count();
        assert!(sound + 1 >= row.len(), "{row:?}");
    }
    Ok(())
}

#[test]
fn a_process_whose_other_one_is_killed_ends_with_a_reason() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdma"])?;
    let place = free_place()?;
    let side = |rank| {
        let perf = ["--perf", "--time", "60000"];
        start(&plugins, &[&["--rendezvous", &place, "--rank", rank][..], &perf].concat())
    };
    let (mut answers, mut asks) = (side("0")?, side("1")?);
    // Behind the table of operations it measures for minutes.
    let mut output = BufReader::new(asks.stdout.take().context("it is piped")?).lines();
    while !output.next().context("it ends")??.contains("compare and swap") {}
    answers.kill()?;
    answers.wait()?;
    let output = asks.wait_with_output()?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && errors.contains("rdma, rank 1: "), "{errors}");
    Ok(())
}
