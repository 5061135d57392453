//! `cargo urom trace`.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Output, Stdio};

use anyhow::{Context, Result};
use serde_json::Value;
use urom_tests::{PluginDirectory, Uromd, built, doca_library};

use crate::common::tool;

const PLUGIN: &str = "worker_talkative";

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Runs the host under `cargo urom trace`, with these options and variables.
fn traced(
    file: &Path,
    options: &[&str],
    host: &[&str],
    variables: &[(&str, &str)],
) -> Result<Output> {
    let plugins = PluginDirectory::with(&[PLUGIN])?;
    let mut tool = tool(["trace"])?;
    tool.arg("--out").arg(file).args(options).arg("--").arg(built("examples/traced_host")?);
    tool.args(host).env("UROM_PLUGIN_PATH", plugins.variable());
    tool.env_remove("TRACEPARENT").envs(variables.iter().copied());
    Ok(tool.stdout(Stdio::piped()).stderr(Stdio::piped()).output()?)
}

/// Reads a file as Perfetto does: the array's end is missing.
fn events(file: &Path) -> Result<Vec<Value>> {
    let text = std::fs::read_to_string(file)?;
    let array = format!("{}]", text.trim_end().trim_end_matches(','));
    serde_json::from_str(&array).with_context(|| text)
}

fn word<'a>(event: &'a Value, key: &str) -> &'a str {
    event[key].as_str().unwrap_or_default()
}

/// Slices of a command: `(depth, name)` in order.
type Slices = Vec<(usize, String)>;

/// Returns each command's slices, by its span. Checks that they nest.
fn tracks(events: &[Value]) -> BTreeMap<String, Slices> {
    let mut tracks: BTreeMap<String, (Slices, usize, f64)> = BTreeMap::new();
    for event in events.iter().filter(|event| ["b", "e"].contains(&word(event, "ph"))) {
        let (slices, depth, last) = tracks.entry(word(event, "id").to_owned()).or_default();
        let time = event["ts"].as_f64().unwrap();
        assert!(time >= *last, "{events:?}");
        *last = time;
        match word(event, "ph") {
            "b" => {
                slices.push((*depth, word(event, "name").to_owned()));
                *depth += 1;
            }
            _ => *depth = depth.checked_sub(1).unwrap(),
        }
    }
    let ended = |(id, (slices, depth, _))| {
        assert_eq!(depth, 0, "{id}");
        (id, slices)
    };
    tracks.into_iter().map(ended).collect()
}

fn roots(events: &[Value]) -> Vec<&Value> {
    events.iter().filter(|event| event["args"]["status"].is_string()).collect()
}

const WHOLE: [(usize, &str); 9] = [
    (0, "worker_talkative SayInSpans"),
    (1, "to the worker"),
    (1, "worker"),
    (2, "SayInSpans"),
    (3, "part"),
    (2, "wait"),
    (2, "SayInSpans"),
    (2, "wait"),
    (1, "to the host"),
];

/// Compares a command with [`WHOLE`]. Waits around its runs may be too short to be seen.
fn assert_whole(slices: &[(usize, String)]) {
    let known = |(depth, name): &(usize, String)| {
        let name = if name.starts_with("worker ") { "worker" } else { name };
        WHOLE.iter().find(|it| **it == (*depth, name)).copied()
    };
    let mut slices: Vec<_> = slices.iter().map(|it| known(it).ok_or(it).unwrap()).collect();
    let mut whole = WHOLE.to_vec();
    for slices in [&mut slices, &mut whole] {
        let mut run = 0;
        slices.retain(|(_, name)| {
            run += usize::from(*name == "SayInSpans");
            *name != "wait" || run == 1
        });
    }
    assert_eq!(slices, whole);
}

#[test]
fn every_command_is_shown_from_submission_to_completion_on_each_path() -> Result<()> {
    let plugins = PluginDirectory::with(&[PLUGIN])?;
    let uromd = Uromd::start(plugins.variable())?;
    let over_tcp =
        Uromd::start_with(plugins.variable(), |command| command.env("UCX_TLS", "tcp,self"))?;
    let library = doca_library()?;
    let library = library.to_str().context("a path in UTF-8")?;
    let ways: [&[(&str, &str)]; 4] = [
        &[],
        &[("SERVICE", uromd.address())],
        &[("SERVICE", uromd.address()), ("UROM_DOCA_LIBRARY", library)],
        &[("SERVICE", over_tcp.address()), ("UCX_TLS", "tcp,self")],
    ];
    for way in ways {
        let file = tempfile::NamedTempFile::new()?;
        let output = traced(file.path(), &[], &["3", "fail"], way)?;
        let said = text(&output.stderr);
        assert!(output.status.success() && text(&output.stdout) == "done\n", "{way:?}: {said}");
        assert!(said.contains("4 commands in "), "{said}");
        let events = events(file.path())?;
        let tracks = tracks(&events);
        assert_eq!(tracks.len(), 4, "{events:?}");
        for root in roots(&events) {
            let slices = &tracks[word(root, "id")];
            match word(&root["args"], "status").contains("SUCCESS") {
                true => assert_whole(slices),
                false => assert_eq!(slices[0].1, "worker_talkative Fail"),
            }
        }
        let mut traces: Vec<_> =
            roots(&events).iter().map(|root| word(&root["args"], "trace_id")).collect();
        traces.sort_unstable();
        traces.dedup();
        assert_eq!(traces.len(), 4, "each command begins a trace");
    }
    Ok(())
}

#[test]
fn a_plugin_with_docas_interface_only_shows_receipt_and_answer() -> Result<()> {
    let plugins = PluginDirectory::with(&[PLUGIN])?;
    let uromd = Uromd::start_with(plugins.variable(), |command| command.arg("--plain-doca"))?;
    let file = tempfile::NamedTempFile::new()?;
    let output = traced(file.path(), &[], &["1"], &[("SERVICE", uromd.address())])?;
    assert!(output.status.success(), "{}", text(&output.stderr));
    let tracks = tracks(&events(file.path())?);
    let [slices] = &tracks.values().collect::<Vec<_>>()[..] else { panic!("{tracks:?}") };
    let names: Vec<_> = slices.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!([names[0], names[1], names[3]], [PLUGIN, "to the worker", "to the host"]);
    assert!(names[2].starts_with("worker "), "{names:?}");
    Ok(())
}

#[test]
fn commands_and_log_lines_are_children_of_the_programs_spans() -> Result<()> {
    let (plugins, log) = (PluginDirectory::with(&[PLUGIN])?, tempfile::NamedTempFile::new()?);
    let stderr = log.reopen()?;
    let uromd = Uromd::start_with(plugins.variable(), |command| command.stderr(stderr))?;
    let file = tempfile::NamedTempFile::new()?;
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let variables = [("SERVICE", uromd.address()), ("TRACEPARENT", &parent)];
    assert!(traced(file.path(), &[], &["2", "spans"], &variables)?.status.success());
    assert!(uromd.stop()?.success());
    let events = events(file.path())?;
    let began: Vec<_> = events.iter().filter(|event| word(event, "ph") == "B").collect();
    let names: Vec<_> = began.iter().map(|event| word(event, "name")).collect();
    assert_eq!(names, ["steps", "step", "step"]);
    let of_trace = |event: &&Value| word(&event["args"], "trace_id") == trace;
    assert!(began.iter().copied().chain(roots(&events)).all(|event| of_trace(&event)));
    for (step, command) in began[1..].iter().zip(roots(&events)) {
        assert_eq!(step["args"]["span_id"], command["args"]["parent_span_id"]);
    }
    let log = std::fs::read_to_string(log.path())?;
    let lines: Vec<_> = log.lines().filter(|line| line.ends_with(trace)).collect();
    for (at, command) in roots(&events).iter().enumerate() {
        let span = word(&command["args"], "span_id");
        let within = format!("parent Some(\"00-{trace}-{span}-01\") trace={trace}");
        assert!(lines[2 * at].ends_with(&within), "{log}");
        assert!(lines[2 * at + 1].contains("after the pause"), "{log}");
    }
    assert_eq!(lines.len(), 4, "{log}");
    Ok(())
}

#[test]
fn a_sample_is_one_trace_in_so_many() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let output = traced(file.path(), &["--sample", "1/3"], &["7"], &[])?;
    assert!(text(&output.stderr).contains("3 commands in "), "{}", text(&output.stderr));
    // The parent of an unsampled trace is unsampled too.
    let parent = [("TRACEPARENT", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00")];
    let output = traced(file.path(), &[], &["2", "spans"], &parent)?;
    assert!(output.status.success());
    assert!(text(&output.stderr).contains("sent no sampled command"), "{}", text(&output.stderr));
    assert_eq!(std::fs::read_to_string(file.path())?, "[\n");
    Ok(())
}

#[test]
fn the_file_of_a_killed_program_is_readable_and_the_code_is_a_shells() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    let output = traced(file.path(), &[], &["2", "spans", "killed"], &[])?;
    assert_eq!(output.status.code(), Some(128 + 9), "{}", text(&output.stderr));
    assert!(text(&output.stderr).contains("signal 9 ended the program"));
    assert_eq!(roots(&events(file.path())?).len(), 2);
    Ok(())
}

#[test]
fn the_programs_code_is_passed_on_and_mistakes_are_named() -> Result<()> {
    let directory = tempfile::tempdir()?;
    let run = |words: &[&str]| -> Result<(Option<i32>, String)> {
        let output = tool([&["trace"], words].concat())?.current_dir(&directory).output()?;
        Ok((output.status.code(), text(&output.stderr)))
    };
    let (code, said) = run(&["sh", "-c", "exit 7"])?;
    assert!(code == Some(7) && said.contains("sent no sampled command"), "{code:?} {said}");
    assert!(directory.path().join("urom-trace.json").is_file());
    for (words, code, reason) in [
        (&["--", "/no/such/program"][..], 1, "cannot run /no/such/program"),
        (&["--out", "/no/such/trace.json", "--", "true"], 1, "cannot write /no/such/trace.json"),
        (&["--sample", "0", "--", "true"], 2, "expected 1/N with N from 1 on"),
        (&["--sample", "1/x", "--", "true"], 2, "expected 1/N with N from 1 on"),
        (&[], 2, "PROGRAM"),
    ] {
        let (found, said) = run(words)?;
        assert!(found == Some(code) && said.contains(reason), "{words:?}: {found:?} {said}");
    }
    Ok(())
}

#[test]
fn a_wrong_variable_is_an_error_of_the_layer_and_a_warning_of_a_program_without_it() -> Result<()> {
    let plugins = PluginDirectory::with(&[PLUGIN])?;
    for (name, value, reason) in [
        ("UROM_TRACE", "/no/such/trace.json", "cannot write the trace /no/such/trace.json"),
        ("UROM_TRACE_SAMPLE", "0", "UROM_TRACE_SAMPLE: expected a number from 1 on"),
    ] {
        for (word, is_success) in [("spans", false), ("log", true)] {
            let file = tempfile::NamedTempFile::new()?;
            let mut host = std::process::Command::new(built("examples/traced_host")?);
            host.args(["1", word]).env("UROM_PLUGIN_PATH", plugins.variable());
            let output = host.env("UROM_TRACE", file.path()).env(name, value).output()?;
            let said = text(&output.stderr);
            assert!(output.status.success() == is_success && said.contains(reason), "{said}");
            assert_eq!(std::fs::read_to_string(file.path())?, "");
        }
    }
    Ok(())
}
