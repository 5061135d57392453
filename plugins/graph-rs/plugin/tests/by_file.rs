//! Plugins as files under the test kit: this plugin, and correct and faulty ones in C.

mod support;

use std::path::Path;

use graph_protocol::{Loopback, LoopbackDone, Protocol};
use support::{compile, plugin};
use urom_pdk::DocaError;
use urom_pdk::test_util::{Domain, Fault, Report, Worker};

fn load(file: impl AsRef<Path>) -> Result<Worker<Protocol>, DocaError> {
    // SAFETY: a plugin of this workspace.
    unsafe { Worker::load(file, &Domain::new()) }
}

fn in_c(times: usize) -> Worker<Protocol> {
    let definition = format!("-DTIMES={times}");
    let file =
        compile("c_loopback", &format!("{times}.so"), &[&definition, "-shared", "-fPIC"], &[]);
    load(file).expect("it opens")
}

fn exchange(worker: Worker<Protocol>) -> Report {
    let sent: Vec<_> = (0..100).map(|data| worker.send(Loopback { data })).collect();
    worker.progress();
    for (data, sent) in sent.iter().enumerate() {
        let data = data as u64;
        assert!(worker.answer(sent).is_none_or(|answer| answer == Ok(LoopbackDone { data })));
    }
    worker.finish()
}

#[test]
fn the_plugin_as_it_was_built_answers_every_command_once() {
    let report = exchange(load(plugin("graph-plugin", "worker_graph")).expect("it opens"));
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.commands, report.notifications), (100, 100));
}

#[test]
fn a_plugin_in_c_that_is_right_is_not_found_wrong() {
    let report = exchange(in_c(1));
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.commands, report.notifications), (100, 100));
}

#[test]
fn a_plugin_in_c_that_answers_twice_or_never_is_found_out() {
    let faults = exchange(in_c(2)).faults;
    assert_eq!(faults.len(), 100);
    assert!(faults.iter().all(|fault| matches!(fault, Fault::AnsweredAgain(_, 2))));
    let faults = exchange(in_c(0)).faults;
    assert_eq!(faults.len(), 100);
    assert!(faults.iter().all(|fault| matches!(fault, Fault::Unanswered(_))));
}

#[test]
fn a_file_that_is_no_plugin_of_this_protocol_does_not_load() {
    assert_eq!(load("/nonexistent.so").unwrap_err(), DocaError::NOT_FOUND);
    let program = std::env::current_exe().expect("the path of this test");
    assert_eq!(load(program).unwrap_err(), DocaError::NOT_FOUND, "a program is not a library");
    let other = plugin("sandbox-plugin", "worker_sandbox");
    assert_eq!(load(other).unwrap_err(), DocaError::UNSUPPORTED_VERSION, "its description has it");
}

/// The graph protocol in a test built with another definition of the same version.
mod another_layout {
    use urom_abi::{urom_command, urom_notification};

    #[urom_command(plugin = "worker_graph", version = 1)]
    #[derive(Debug)]
    pub(super) enum Command {
        #[urom(reply = LoopbackDone)]
        Loopback { data: u64 },
    }

    #[urom_notification]
    #[derive(Debug)]
    pub(super) enum Notification {
        LoopbackDone { data: f64 },
    }
}

#[test]
fn a_plugin_of_another_layout_does_not_load() {
    let file = plugin("graph-plugin", "worker_graph");
    // SAFETY: a plugin of this workspace.
    let worker = unsafe { Worker::<another_layout::Protocol>::load(file, &Domain::new()) };
    assert_eq!(worker.unwrap_err(), DocaError::UNSUPPORTED_VERSION);
}
