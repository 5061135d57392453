//! Misbehaviour of plugins.

use std::iter::repeat_n;
use std::time::Duration;

use anyhow::Result;

use super::stage::{Act, Stage};
use crate::host::Call;
use crate::suite::Length;

const CORRUPTIONS: [&str; 7] = [
    "nothing follows the head",
    "the head is followed by no memory",
    "an answer follows itself",
    "an answer was freed",
    "an answer is there twice",
    "a command was freed",
    "a command follows itself",
];

/// Number of starts with a panic in progress. In one of four, commands come first.
const STARTS: usize = 20;

const LEAKS: u32 = 256;

const COMMAND: &str = "the command asked for it";
const STEP: &str = "whoever steps here asked for it";

fn act(
    class: &'static str,
    name: impl Into<String>,
    trace: Option<&str>,
    play: impl Fn(&mut Stage) -> Result<Duration> + 'static,
) -> Act {
    Act { class, name: name.into(), trace: trace.map(str::to_owned), play: Box::new(play) }
}

pub(super) fn all(length: Length) -> Vec<Act> {
    let (block, each, starts, limits) = match length {
        Length::Short => (Duration::from_secs(2), 64 << 10, 1, &[2][..]),
        Length::Full => (Duration::from_secs(10), 1 << 20, STARTS, &[1, 7][..]),
    };
    let name = format!("a plugin blocks for {block:?}");
    let mut acts = vec![act("blocks", name, None, move |stage| stage.blocks(block))];
    for limit in limits.iter().copied() {
        let name = format!("a plugin never returns and is ended after {limit} s");
        let trace = Some("(--plugin-timeout)");
        acts.push(act("blocks", name, trace, move |stage| stage.is_ended(limit)));
    }
    let name = format!("a plugin leaks {LEAKS} times {} KiB", each >> 10);
    acts.push(act("leaks", name, None, move |stage| stage.leaks(LEAKS, each)));
    for (call, trace) in
        [(Call::PanicAtOnce, COMMAND), (Call::PanicLater, COMMAND), (Call::PanicAfterwards, STEP)]
    {
        let name = format!("a plugin panics: {call:?}");
        acts.push(act("panics", name, Some(trace), move |stage| stage.panics_for(&call)));
    }
    let name = "a plugin panics when a command is cancelled";
    acts.push(act("panics", name, Some(STEP), Stage::panics_when_cancelled));
    let methods = ["open", "address"].into_iter().chain(repeat_n("progress", starts));
    for method in methods.chain(["close"]) {
        let trace = format!("the environment asked {method} for it");
        let name = format!("a plugin panics in {method}");
        acts.push(act("panics", name, Some(&trace), move |stage| match method {
            "open" | "address" => stage.panics_at_start(method),
            _ => stage.panics_in(method),
        }));
    }
    for (how, what) in (1..).zip(CORRUPTIONS) {
        let (name, trace) =
            (format!("a plugin corrupts a list: {what}"), format!("corrupts a list: {how}"));
        acts.push(act("corrupts", name, Some(&trace), move |stage| stage.corrupts(how)));
    }
    acts
}
