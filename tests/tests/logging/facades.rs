//! Log lines of Rust plugins through `log` and `tracing`: in `uromd`, in an embedded service, and
//! in a C program.

use std::process::Command;
use std::sync::Arc;

use anyhow::{Result, ensure};
use tracing::{Dispatch, Level, dispatcher};
use urom_host::{Service, Worker};
use urom_tests::PluginDirectory;

use crate::line::Line;
use crate::plugins::logged;

const PLUGIN: &str = "worker_talkative";

type Client = talkative_protocol::Client<urom_host::Host>;

/// Makes worker `id` log all its lines, on its thread and another thread, and fail.
fn say(service: &Service, id: u64) -> Result<()> {
    let talkative: Client = service.plugin::<talkative_protocol::Protocol>()?;
    let worker: Worker = service.worker().id(id).plugin(&talkative).start().wait()?;
    talkative.task_say_all(&worker, id).submit()?.wait()?;
    talkative.task_say_elsewhere(&worker, id).submit()?.wait()?;
    assert!(talkative.task_fail(&worker).submit()?.wait().is_err());
    Ok(worker.stop().wait()?)
}

/// Expected `(level, text)` of [`say`]: `most` lines of each crate, most severe first.
fn expected(id: u64, most: usize) -> Vec<(&'static str, String)> {
    let levels =
        [("ERR", "error"), ("WRN", "warn"), ("INF", "info"), ("DBG", "debug"), ("TRC", "trace")];
    let mut lines = Vec::new();
    if most >= 3 {
        lines.extend(["open by log", "open by tracing"].map(|text| ("INF", text.to_owned())));
    }
    for through in ["log", "tracing"] {
        let of_each = levels[..most].iter();
        lines.extend(of_each.map(|(level, name)| (*level, format!("{name} by {through} {id}"))));
    }
    if most >= 3 {
        let fields = r#"bytes=7 peer="node 7""#;
        lines.extend(
            ["log", "tracing"].map(|through| ("INF", format!("fields by {through} {id} {fields}"))),
        );
    }
    if most >= 2 {
        lines.extend(
            ["log", "tracing"].map(|through| ("WRN", format!("elsewhere by {through} {id}"))),
        );
    }
    lines
}

/// Lines of the plugin, except the failed command's.
fn said(lines: &[Line]) -> Vec<(&str, String)> {
    let own = lines.iter().filter(|line| line.function.starts_with(PLUGIN));
    let said = own.map(|line| (line.level.as_str(), line.text.clone()));
    said.filter(|(_, text)| !text.contains("NOT_FOUND")).collect()
}

#[test]
fn lines_of_each_crate_reach_the_log_of_uromd_up_to_its_level() -> Result<()> {
    for (level, most) in [("70", 5), ("60", 4), ("50", 3), ("40", 2), ("30", 1), ("10", 0)] {
        let lines = logged(level, |service| say(service, 7))?;
        assert_eq!(said(&lines), expected(7, most), "{level}");
    }
    Ok(())
}

#[test]
fn a_line_names_the_worker_the_plugin_its_part_and_the_location_in_its_code() -> Result<()> {
    let lines = logged("50", |service| say(service, 7))?;
    let line = |text: &str| lines.iter().find(|line| line.text.starts_with(text)).unwrap();
    for text in ["info by log 7", "info by tracing 7", "fields by log", "fields by tracing"] {
        let Line { name, location, function, .. } = line(text);
        let source =
            if text.starts_with("fields") { "worker_talkative another::part" } else { PLUGIN };
        assert_eq!((name.as_str(), function.as_str()), ("worker 7", source), "{text}");
        assert!(location.starts_with("lib.rs:"), "{location}");
    }
    let failure = line("Fail of ");
    assert_eq!(
        failure.location,
        location_of("Err(DocaError::NOT_FOUND)?"),
        "where the handler failed"
    );
    let text = &failure.text;
    assert!(
        text.contains("from host 127.0.0.1:") && text.contains("DOCA_ERROR_NOT_FOUND"),
        "{text}"
    );
    Ok(())
}

fn location_of(text: &str) -> String {
    let code = include_str!("../../plugins/talkative/src/lib.rs");
    let line = code.lines().position(|line| line.contains(text)).map_or(0, |at| at + 1);
    format!("lib.rs:{line}")
}

fn embedded(plugins: &PluginDirectory) -> Result<Service> {
    Ok(Service::builder().embedded().plugin_paths([plugins.variable()]).connect_blocking()?)
}

/// Run by the next test in another process: workers of one process share the plugin's library.
#[test]
#[ignore = "the other process of a test in this file"]
fn embedded_with_a_subscriber() -> Result<()> {
    let (plugins, log) = (PluginDirectory::with(&[PLUGIN])?, tempfile::NamedTempFile::new()?);
    let subscriber = tracing_subscriber::fmt().with_max_level(Level::INFO).with_ansi(false);
    let subscriber = subscriber.with_writer(Arc::new(log.reopen()?)).finish();
    dispatcher::set_global_default(Dispatch::new(subscriber))?;
    let service = embedded(&plugins)?;
    say(&service, 1)?;
    say(&service, 2)?;
    drop(service);
    let events = std::fs::read_to_string(log.path())?;
    for id in [1, 2] {
        for text in ["by log", "by tracing"] {
            for (level, name) in [("ERROR", "error"), ("WARN", "warn"), ("INFO", "info")] {
                let fields = "source=worker_talkative at=lib.rs:";
                let text = format!("{level} urom_plugin: {name} {text} {id} {fields}");
                assert_eq!(events.matches(&text).count(), 1, "{text} in {events}");
            }
        }
    }
    assert!(!events.contains("debug by"), "{events}");
    Ok(())
}

fn alone(test: &str) -> Result<String> {
    let test = format!("facades::{test}");
    let mut command = Command::new(std::env::current_exe()?);
    let output = command.args(["--exact", "--ignored", "--nocapture", &test]).output()?;
    let text = String::from_utf8(output.stderr)?;
    ensure!(output.status.success(), "{text}");
    Ok(text)
}

#[test]
fn workers_of_an_embedded_service_give_lines_to_the_programs_subscriber() -> Result<()> {
    alone("embedded_with_a_subscriber").map(drop)
}

/// Run by the test below in another process.
#[test]
#[ignore = "the other process of a test in this file"]
fn embedded_alone() -> Result<()> {
    let plugins = PluginDirectory::with(&[PLUGIN])?;
    let service = embedded(&plugins)?;
    say(&service, 1)?;
    say(&service, 2)
}

#[test]
fn without_a_subscriber_lines_down_to_info_go_to_standard_error() -> Result<()> {
    let text = alone("embedded_alone")?;
    let lines = Line::of_service(&text);
    assert_eq!(said(&lines), [expected(1, 3), expected(2, 3)].concat(), "{text}");
    Ok(())
}
