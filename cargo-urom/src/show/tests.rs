//! Recordings as lists.

use clap::Parser;
use graph_protocol::Protocol;
use urom_abi::describe::section::{self, Build, Panic};
use urom_abi::protocol::Protocol as _;
use urom_recording::RecordedPlugin;

use super::*;

#[derive(Parser)]
struct Words {
    #[command(flatten)]
    args: ShowArgs,
}

fn args(words: &[&str]) -> ShowArgs {
    Words::parse_from([&["show", "x.urec"], words].concat()).args
}

fn loopback(data: u64) -> Vec<u8> {
    [0_u64.to_ne_bytes(), data.to_ne_bytes()].concat()
}

/// A command that succeeds, one that is cancelled and fails, and a host that leaves.
fn lines(words: &[&str], is_described: bool) -> Vec<String> {
    let build = Build { kit: "0.1.0", panic: Panic::Unwind };
    let described = section::bytes(Protocol::DESCRIPTION, &build, false);
    let plugin = RecordedPlugin {
        id: 2,
        name: "worker_graph".to_owned(),
        version: 1,
        description: is_described.then_some(described),
    };
    let args = args(words);
    let plugins = vec![ShownPlugin::new(&plugin)];
    let mut list = List { args: &args, plugins, pending: HashMap::new() };
    let [first, second] = [1, 2].map(|token| RecordedId { host: 7, token });
    let entries = [
        Entry::Command { at: 1_000, id: first, plugin: 2, bytes: loopback(42).into() },
        Entry::Answer {
            at: 8_000,
            id: first,
            status: 0,
            payload: Some(loopback(42).into()),
            text: "".into(),
        },
        Entry::Command { at: 2_000_000, id: second, plugin: 2, bytes: loopback(43).into() },
        Entry::Cancel { at: 3_000_000, id: second, is_late: true },
        Entry::Answer {
            at: 1_003_000_000,
            id: second,
            status: DocaError::TIME_OUT.code(),
            payload: None,
            text: "too\x1b[2Jslow".into(),
        },
        Entry::HostLeft { at: 2_000_000_000, host: 7 },
        Entry::Lost { at: 2_000_000_000, count: 3 },
    ];
    let lines = entries.iter().filter_map(|entry| list.line(entry));
    lines.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>()).collect()
}

#[test]
fn commands_are_shown_with_their_fields_answers_and_times() {
    assert_eq!(
        lines(&[], true),
        [
            "    0.000001 s  host 7  worker_graph Loopback  data = 42",
            "    0.000008 s  host 7  worker_graph Loopback  after 7.0µs: LoopbackDone  data = 42",
            "    0.002000 s  host 7  worker_graph Loopback  data = 43",
            "    0.003000 s  host 7  worker_graph Loopback  timed out",
            "    1.003000 s  host 7  worker_graph Loopback  failed after 1.0s: DOCA_ERROR_TIME_OUT: too\\u{1b}[2Jslow",
            "    2.000000 s  host 7  left",
            "    2.000000 s  3 entries are missing: the disk was too slow",
        ]
    );
}

#[test]
fn only_what_is_asked_for_is_shown() {
    let failed = lines(&["--failed"], true);
    assert!(failed[0].contains("data = 43") && failed[1].ends_with("timed out"), "{failed:?}");
    assert!(failed[2].contains("failed after") && failed.len() == 4, "{failed:?}");
    assert_eq!(lines(&["--command", "Other"], true).len(), 1);
    assert_eq!(lines(&["--plugin", "other"], true).len(), 1);
    assert_eq!(lines(&["--plugin", "worker_graph", "--command", "Loopback"], true).len(), 6);
}

#[test]
fn messages_of_a_plugin_in_c_are_shown_as_bytes() {
    let lines = lines(&["--command", "0"], false);
    assert!(lines[0].contains("worker_graph 0  ") && lines[0].contains("2a"), "{lines:?}");
}

#[test]
fn bytes_that_are_not_a_message_are_shown_with_the_problem() {
    let plugin = ShownPlugin { id: 1, name: "p".to_owned(), protocol: Some(Protocol::DESCRIPTION) };
    let (name, fields) = plugin.message(&[9; 16], true);
    assert!(name == "?" && fields.contains("is not among"), "{fields}");
    let (_, fields) = plugin.message(&[0; 8], true);
    assert!(fields.contains("8 bytes"), "{fields}");
}
