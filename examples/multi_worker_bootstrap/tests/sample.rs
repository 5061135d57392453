//! The program itself, against the embedded service.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use urom_tests::PluginDirectory;

fn sample(plugins: &PluginDirectory) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_multi_worker_bootstrap"));
    command.env_remove("DOCA_UROM_SERVICE_FILE").env("UROM_PLUGIN_PATH", plugins.variable());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn graph() -> PluginDirectory {
    PluginDirectory::with(&["worker_graph"]).expect("the graph plugin was built")
}

fn text(output: &Output) -> (Vec<String>, String) {
    let lines = String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect();
    (lines, String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn one_round_prints_every_worker_and_both_groups() {
    let plugins = graph();
    let output = sample(&plugins).arg("--once").output().unwrap();
    let (lines, errors) = text(&output);
    assert!(output.status.success(), "{lines:?} {errors}");
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
}

#[test]
fn a_signal_ends_it_in_order() {
    for signal in [Signal::INT, Signal::TERM] {
        let plugins = graph();
        let mut child = sample(&plugins).args(["-l", "50"]).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let running =
            lines.by_ref().map_while(Result::ok).any(|line| line.starts_with("all workers run"));
        assert!(running, "{}", errors(&mut child));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let last = lines.map_while(Result::ok).last();
        let errors = errors(&mut child);
        assert_eq!(last.as_deref(), Some("Sample finished successfully"), "{errors}");
        assert!(errors.contains("preparing to exit"), "{errors}");
        assert!(child.wait().unwrap().success());
    }
}

fn errors(child: &mut Child) -> String {
    let mut text = String::new();
    if let Some(mut errors) = child.stderr.take() {
        let _ = errors.read_to_string(&mut text);
    }
    text
}

#[test]
fn what_goes_wrong_is_said_and_counts() {
    let none = PluginDirectory::with(&[]).unwrap();
    let cases: [(&[&str], &str); 3] = [
        (&["--once"], "serves no plugin"),
        (&["--once", "--device", "no_such_device"], "no_such_device"),
        (&["--once", "--service", "127.0.0.1:1"], "127.0.0.1:1"),
    ];
    for (arguments, expected) in cases {
        let output = sample(&none).args(arguments).output().unwrap();
        let (lines, errors) = text(&output);
        assert_eq!(output.status.code(), Some(1), "{errors}");
        assert_eq!(lines.last().map(String::as_str), Some("Sample finished with errors"));
        assert!(errors.contains(expected), "{errors}");
    }
}
