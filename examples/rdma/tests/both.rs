//! Both processes, on embedded services and on one `uromd`.

use anyhow::Result;
use rustix::process::Signal;
use urom_tests::program::{LONG, Running, program};
use urom_tests::{PluginDirectory, Uromd, free_address};

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

fn start(plugins: &PluginDirectory, arguments: &[&str]) -> Result<[Running; 2]> {
    let address = free_address()?;
    let side = |rank| {
        let mut command = program(env!("CARGO_BIN_EXE_rdma"), plugins);
        command.args(["--rendezvous", &address, "--rank", rank]).args(arguments);
        Running::start(command)
    };
    Ok([side("0")?, side("1")?])
}

/// Returns the table, without UCX's log lines.
fn table(plugins: &PluginDirectory, arguments: &[&str]) -> Result<Vec<String>> {
    let [answers, asks] = start(plugins, arguments)?;
    answers.end(LONG)?.succeeded();
    let lines = asks.end(LONG)?.succeeded();
    Ok(lines.into_iter().filter(|line| !line.contains(" UCX  ")).collect())
}

#[test]
fn every_operation_has_a_line_on_embedded_services_and_on_a_common_uromd() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdma"])?;
    let daemon = Uromd::start_with(plugins.variable(), |command| command.args(["-l", "10"]))?;
    for arguments in [&[][..], &["--service", daemon.address()]] {
        let lines = table(&plugins, arguments)?;
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
    let lines = table(&plugins, &["--perf", "--time", "1"])?;
    let figures: Vec<Vec<f64>> = lines
        .iter()
        .map(|line| line.split_whitespace().filter_map(|cell| cell.parse().ok()).collect())
        .filter(|figures: &Vec<f64>| matches!(figures.len(), 7 | 11))
        .collect();
    // Write, read and send, by latency and by bandwidth, in seven sizes.
    assert_eq!(figures.len(), 3 * 2 * 7, "{lines:#?}");
    for row in figures {
        // The deviation of a single time is zero.
        let sound = row.iter().filter(|figure| figure.is_finite() && **figure > 0.0).count();
        assert!(sound + 1 >= row.len(), "{row:?}");
    }
    Ok(())
}

#[test]
fn a_process_whose_other_one_is_killed_ends_with_a_reason() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_rdma"])?;
    let [answers, mut asks] = start(&plugins, &["--perf", "--time", "60000"])?;
    // After the table of operations, the measurement takes minutes.
    asks.prints("compare and swap")?;
    answers.signal(Signal::KILL)?;
    asks.end(LONG)?.failed_saying("rdma, rank 1: ");
    Ok(())
}
