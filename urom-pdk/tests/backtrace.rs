//! The backtrace of a panic in a handler: the plugin's functions, down to the handler's method.
#![cfg(not(miri))]

#[path = "common/again.rs"]
mod program;

use std::time::Duration;

use program::again;
use protocol::*;
use urom_pdk::prelude::*;
use urom_pdk::test_util::Worker;

mod protocol {
    #[urom_abi::urom_command(plugin = "worker_failing", version = 1)]
    pub(crate) enum Command {
        #[urom(reply = Done)]
        FailAtOnce,
        #[urom(reply = Done)]
        FailLater,
    }

    #[urom_abi::urom_notification]
    pub(crate) enum Notification {
        Done,
    }
}

struct Failing;

#[urom_plugin(export = false)]
impl Handler for Failing {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Failing)
    }

    fn progress(&self) -> bool {
        if std::env::var_os("FAIL_IN_PROGRESS").is_some() {
            deeper(7); // progress
        }
        false
    }

    async fn fail_at_once(&self, _: &Context, _: FailAtOnce) -> Result<Done> {
        deeper(7); // at once
        Ok(Done)
    }

    async fn fail_later(&self, _: &Context, _: FailLater) -> Result<Done> {
        self.wait_and_fail(7).await; // later
        Ok(Done)
    }
}

impl Failing {
    async fn wait_and_fail(&self, value: u64) {
        urom_pdk::time::sleep(Duration::from_millis(1)).await;
        [value].iter().for_each(|value| deeper(*value)); // waited
    }
}

#[inline(never)]
fn deeper(value: u64) {
    assert!(std::hint::black_box(value) == 0, "as the test asks"); // deepest
}

#[test]
#[ignore = "the other process of the tests in this file"]
fn failing() {
    let worker = Worker::<Protocol>::open::<Failing>();
    assert!(worker.call(FailAtOnce).is_err());
    let later = worker.send(FailLater);
    worker.advance(Duration::from_millis(1));
    assert!(worker.wait(later).is_err());
}

fn frames(what: &str, in_progress: bool) -> Vec<String> {
    let mut command = again("failing");
    command.env("RUST_BACKTRACE", "1").env_remove("FAIL_IN_PROGRESS");
    if in_progress {
        command.env("FAIL_IN_PROGRESS", "1");
    }
    let output = command.output().expect("it runs");
    let text = String::from_utf8(output.stderr).expect("it is text");
    let behind = text.lines().skip_while(|line| !line.contains(what)).skip(1);
    let frames =
        behind.map_while(|line| line.split_once("]   in ")).map(|(_, frame)| frame.to_owned());
    let frames = frames.filter(|frame| !frame.contains("/rustlib/") && !frame.contains("/rustc/"));
    frames.collect()
}

/// Returns ` at file:line` for the line of this file that ends with the comment `what`.
fn location(what: &str) -> String {
    let text = include_str!("backtrace.rs");
    let line =
        text.lines().position(|line| line.ends_with(&format!("; // {what}"))).expect("it is here");
    format!("tests/backtrace.rs:{}:", line + 1)
}

fn assert_shown(frames: &[String], expected: &[(&str, &str)]) {
    assert_eq!(frames.len(), expected.len(), "{frames:#?}");
    for (frame, (name, line)) in frames.iter().zip(expected) {
        assert!(frame.contains(name) && frame.contains(&location(line)), "{name} in {frames:#?}");
    }
}

#[test]
fn a_backtrace_ends_at_the_handlers_method() {
    let shown = frames("FailAtOnce", false);
    assert_shown(&shown, &[("deeper at ", "deepest"), ("Failing::fail_at_once at ", "at once")]);
    assert!(shown[1].starts_with("Failing::fail_at_once at "), "{shown:#?}");
}

#[test]
fn a_backtrace_of_a_future_that_waited_ends_at_the_handlers_method() {
    let shown = frames("FailLater", false);
    let own = [shown.first(), shown.last()].map(|frame| frame.cloned().unwrap_or_default());
    assert_shown(&own, &[("deeper at ", "deepest"), ("Failing::fail_later at ", "later")]);
    assert!((3..=4).contains(&shown.len()), "{shown:#?}");
}

#[test]
fn a_backtrace_of_progress_ends_at_the_handlers_method() {
    let shown = frames("the handler's progress", true);
    let own = [shown[0].clone(), shown[1].clone()];
    assert_shown(&own, &[("deeper at ", "deepest"), ("progress", "progress")]);
    assert!(!shown.iter().any(|frame| frame.contains("urom-pdk/src")), "{shown:#?}");
}
