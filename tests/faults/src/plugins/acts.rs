//! What a plugin does wrong.

use std::fmt;
use std::time::Duration;

use crate::host::Call;
use crate::suite::Length;

/// What a plugin does wrong, and what is asked of it to that end.
#[derive(Debug, Clone)]
pub(super) enum Act {
    /// Blocks its worker for so long.
    Blocks(Duration),
    /// Does not return, and its worker is ended after so many seconds.
    IsEnded(u32),
    /// Leaks this much memory in as many commands, in bytes.
    Leaks { commands: u32, each: u64 },
    /// Panics for a command, which fails: that, and no more.
    PanicsFor(Call),
    /// Panics for a command that is never answered, when it is given up.
    PanicsWhenGivenUp,
    /// Panics in this method when its worker starts, which then does not.
    PanicsAtStart(&'static str),
    /// Panics in this method of a worker that runs.
    PanicsIn(&'static str),
    /// Does to a list what `tests/c/corrupt_plugin.c` has this number and name for.
    Corrupts(u64, &'static str),
}

/// What `tests/c/corrupt_plugin.c` can do.
const CORRUPTIONS: [&str; 7] = [
    "nothing follows the head",
    "the head is followed by no memory",
    "an answer follows itself",
    "an answer was freed",
    "an answer is there twice",
    "a command was freed",
    "a command follows itself",
];

/// How often a plugin panics in progress: in one start of four commands come before it.
const STARTS: usize = 20;

pub(super) fn all(length: Length) -> Vec<Act> {
    let (block, each, starts, limits) = match length {
        Length::Short => (Duration::from_secs(2), 64 << 10, 1, &[2][..]),
        Length::Full => (Duration::from_secs(10), 1 << 20, STARTS, &[1, 7][..]),
    };
    let mut acts = vec![Act::Blocks(block)];
    acts.extend(limits.iter().copied().map(Act::IsEnded));
    acts.push(Act::Leaks { commands: 256, each });
    acts.extend([Call::PanicAtOnce, Call::PanicLater, Call::PanicAfterwards].map(Act::PanicsFor));
    acts.push(Act::PanicsWhenGivenUp);
    acts.extend(["open", "address"].map(Act::PanicsAtStart));
    acts.extend(std::iter::repeat_n(Act::PanicsIn("progress"), starts));
    acts.push(Act::PanicsIn("close"));
    acts.extend((1..).zip(CORRUPTIONS).map(|(how, name)| Act::Corrupts(how, name)));
    acts
}

impl Act {
    pub(super) fn name(&self) -> &'static str {
        match self {
            Act::Blocks(_) | Act::IsEnded(_) => "blocks",
            Act::Leaks { .. } => "leaks",
            Act::PanicsFor(_)
            | Act::PanicsWhenGivenUp
            | Act::PanicsAtStart(_)
            | Act::PanicsIn(_) => "panics",
            Act::Corrupts(..) => "corrupts",
        }
    }
}

impl Act {
    /// What stands in the daemon's log once the plugin did it; of some acts the answers tell.
    pub(super) fn trace(&self) -> Option<String> {
        match self {
            Act::Blocks(_) | Act::Leaks { .. } => None,
            Act::IsEnded(_) => Some("(--plugin-timeout)".to_owned()),
            Act::PanicsFor(Call::PanicAfterwards) | Act::PanicsWhenGivenUp => {
                Some("whoever steps here asked for it".to_owned())
            }
            Act::PanicsFor(_) => Some("the command asked for it".to_owned()),
            Act::PanicsAtStart(method) | Act::PanicsIn(method) => {
                Some(format!("the environment asked {method} for it"))
            }
            Act::Corrupts(how, _) => Some(format!("corrupts a list: {how}")),
        }
    }
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Act::Blocks(time) => write!(f, "a plugin blocks for {time:?}"),
            Act::IsEnded(limit) => write!(f, "a plugin never returns and is ended after {limit} s"),
            Act::Leaks { commands, each } => {
                write!(f, "a plugin leaks {commands} times {} KiB", each >> 10)
            }
            Act::PanicsFor(call) => write!(f, "a plugin panics: {call:?}"),
            Act::PanicsWhenGivenUp => write!(f, "a plugin panics when a command is given up"),
            Act::PanicsAtStart(method) | Act::PanicsIn(method) => {
                write!(f, "a plugin panics in {method}")
            }
            Act::Corrupts(_, how) => write!(f, "a plugin corrupts a list: {how}"),
        }
    }
}
