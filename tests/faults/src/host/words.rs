//! Orders to a host and its replies: one line of JSON each.

use std::io::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use urom_host::{DocaError, Error};

use super::pace::Pace;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Commands that are answered, one after the other without a pause.
    Busy,
    /// Commands that are never answered: tasks wait without traffic.
    Idle,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    Connect {
        address: String,
    },
    /// Start or join a worker with the faulty plugin, `plugins` and `env`.
    Start {
        worker: u64,
        plugins: Vec<String>,
        env: Vec<(String, String)>,
    },
    Call {
        worker: u64,
        call: Call,
        limit: Duration,
    },
    Loopbacks {
        worker: u64,
        commands: u64,
        in_flight: u32,
        seed: u64,
    },
    Load {
        worker: u64,
        kind: Kind,
        in_flight: u32,
        seed: u64,
    },
    /// Report when this number of further commands has been answered.
    Mark {
        worker: u64,
        commands: u64,
    },
    Pace {
        worker: u64,
    },
    /// Send nothing more, and report how every task ended.
    Halt {
        worker: u64,
    },
    CompleteTwice,
    Leave {
        worker: u64,
    },
    Disconnect,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Call {
    /// Faulty plugin: returns `data`.
    Echo(u64),
    /// Faulty plugin: blocks its worker for this time.
    Stall(Duration),
    /// Any plugin that answers two words with two words.
    Raw {
        plugin: String,
        words: [u64; 2],
    },
    /// Unruly plugin, as the next variants: see its protocol.
    Keep(u64),
    PanicAtOnce,
    PanicLater,
    PanicAfterwards,
    PanicWhenCancelled,
    Leak(u64),
    /// Returns the number of answers to tasks after their deadlines; sends nothing.
    LateAnswers,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Word {
    Connected(Result<(), Trouble>),
    Disconnected,
    Of(u64, Said),
    /// A violation outside of any load.
    Never(String),
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Said {
    Called {
        end: Result<u64, Trouble>,
        took: u64,
    },
    Started(Result<i32, Trouble>),
    Marked,
    Paced(Pace),
    /// Every task in flight has ended, after `Order::Halt` or the loss of the worker.
    Over(Tally),
    Left(Result<(), Trouble>),
}

impl Word {
    /// Prints the word. A closed output ends this host.
    pub(super) fn say(&self) {
        let said = serde_json::to_string(self).map(|line| {
            let mut out = std::io::stdout().lock();
            writeln!(out, "{line}").and_then(|()| out.flush())
        });
        if !matches!(said, Ok(Ok(()))) {
            std::process::exit(1);
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) code: u32,
    pub(crate) text: String,
}

impl Trouble {
    pub(super) fn new(code: DocaError, error: &impl ToString) -> Trouble {
        Trouble { code: code.code(), text: error.to_string() }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::new(error.code(), &error)
    }
}

#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    pub(crate) values: u64,
    pub(crate) errors: Vec<(Trouble, u64)>,
    /// Time of the last end, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(crate) last_end: u64,
    /// Violations: a task that ended twice, a wrong value.
    pub(crate) violations: Vec<String>,
}
