//! The program with the embedded service.

use std::process::Stdio;

use anyhow::Result;
use rustix::process::Signal;
use urom_tests::PluginDirectory;
use urom_tests::program::{LONG, Running, program};

fn sample(plugins: &[&str], arguments: &[&str]) -> Result<(PluginDirectory, Running)> {
    let plugins = PluginDirectory::with(plugins)?;
    let mut command = program(env!("CARGO_BIN_EXE_multi_worker_bootstrap"), &plugins);
    command.args(arguments);
    Ok((plugins, Running::start(command)?))
}

#[test]
fn one_round_prints_every_worker_and_both_groups() -> Result<()> {
    let (_plugins, running) = sample(&["worker_graph"], &["--once"])?;
    let lines = running.end(LONG)?.succeeded();
    assert_eq!(lines.len(), 9, "{lines:?}");
    for (id, line) in lines[1..5].iter().enumerate() {
        let cells: Vec<f64> = line.split_whitespace().map(|cell| cell.parse().unwrap()).collect();
        let id = id as f64;
        assert_eq!(cells[..4], [id, id % 2.0, id, id]);
        assert!(cells[4] > 0.0 && cells[5] > 0.0, "{line}");
    }
    assert_eq!(
        lines[6..],
        ["workers in group 1: 1 3", "workers in group 0: 0 2", "Sample finished successfully"]
    );
    Ok(())
}

#[test]
fn a_reader_that_leaves_ends_it_quietly() -> Result<()> {
    let plugins = PluginDirectory::with(&["worker_graph"])?;
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let mut command = program(env!("CARGO_BIN_EXE_multi_worker_bootstrap"), &plugins);
    let output = command.arg("--once").stdout(writer).stderr(Stdio::piped()).output()?;
    assert_eq!(output.status.code(), Some(101), "{output:?}");
    assert_eq!(String::from_utf8(output.stderr)?, "");
    Ok(())
}

#[test]
fn a_signal_ends_it_in_order() -> Result<()> {
    for signal in [Signal::INT, Signal::TERM] {
        let (_plugins, mut running) = sample(&["worker_graph"], &["-l", "50"])?;
        running.prints("all workers run")?;
        running.signal(signal)?;
        let ended = running.end(LONG)?;
        assert!(ended.errors.contains("preparing to exit"), "{}", ended.errors);
        assert_eq!(ended.succeeded(), ["Sample finished successfully"]);
    }
    Ok(())
}

#[test]
fn errors_are_printed_and_fail_the_sample() -> Result<()> {
    let cases: [(&[&str], &str); 3] = [
        (&["--once"], "serves no plugin"),
        (&["--once", "--device", "no_such_device"], "no_such_device"),
        (&["--once", "--service", "127.0.0.1:1"], "127.0.0.1:1"),
    ];
    for (arguments, expected) in cases {
        let (_plugins, running) = sample(&[], arguments)?;
        let ended = running.end(LONG)?;
        ended.failed_saying(expected);
        assert_eq!(ended.lines.last().map(String::as_str), Some("Sample finished with errors"));
    }
    Ok(())
}
