//! What a host is told, and what it answers: a line of JSON each.

use std::io::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use urom_host::{DocaError, Error};

use super::pace::Pace;

/// What a load is made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// Commands that are answered, one following the other without a pause.
    Busy,
    /// Commands that are never answered: nothing is on its way, and yet somebody waits.
    Idle,
}

/// What a host is told.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Order {
    /// Connect to the service at this address.
    Connect {
        address: String,
    },
    /// Start or join a worker with the faulty plugin and these, and with these variables.
    Start {
        worker: u64,
        plugins: Vec<String>,
        env: Vec<(String, String)>,
    },
    /// Submit one command with this deadline, and wait for its end.
    Call {
        worker: u64,
        call: Call,
        limit: Duration,
    },
    /// Submit so many loopbacks, so many of them in flight at a time.
    Loopbacks {
        worker: u64,
        commands: u64,
        in_flight: u32,
        seed: u64,
    },
    /// Put so many tasks in flight on a worker, and a new one for each that was answered.
    Load {
        worker: u64,
        kind: Kind,
        in_flight: u32,
        seed: u64,
    },
    /// Say so when so many more commands have been answered.
    Mark {
        worker: u64,
        commands: u64,
    },
    /// Say how quickly commands were answered since this was asked the last time.
    Pace {
        worker: u64,
    },
    /// Send nothing more, and say how everything ended.
    Halt {
        worker: u64,
    },
    /// Have the next task's completion come twice, to show that this is seen.
    CompleteTwice,
    Leave {
        worker: u64,
    },
    /// Let go of the service.
    Disconnect,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Call {
    /// Of the faulty plugin: `data` comes back.
    Echo(u64),
    /// Of the faulty plugin: its worker is blocked for so long.
    Stall(Duration),
    /// Of any plugin that answers two words with two words.
    Raw {
        plugin: String,
        words: [u64; 2],
    },
    /// Of the unruly plugin, as its protocol says.
    Keep(u64),
    PanicAtOnce,
    PanicLater,
    PanicAfterwards,
    PanicWhenGivenUp,
    Leak(u64),
    /// No command: how many answers came to tasks that had been given up.
    LateAnswers,
}

/// What a host says.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Word {
    Connected(Result<(), Trouble>),
    Disconnected,
    /// About a worker.
    Of(u64, Said),
    /// What must never be, and belongs to no load.
    Never(String),
}

/// What a host says about a worker.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Said {
    /// A call has ended, with a value (0 if it has none), after so many nanoseconds.
    Called {
        end: Result<u64, Trouble>,
        took: u64,
    },
    Started(Result<i32, Trouble>),
    Marked,
    Paced(Pace),
    /// Every task in flight has ended: after an order to halt, or because the worker was lost.
    Over(Tally),
    Left(Result<(), Trouble>),
}

impl Word {
    /// Says it. Nobody may listen any more, which ends this host as well.
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

/// An error, as the host's program got it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Trouble {
    pub(crate) code: u32,
    pub(crate) text: String,
}

impl Trouble {
    pub(super) fn new(code: DocaError, error: &impl ToString) -> Trouble {
        Trouble { code: code.0, text: error.to_string() }
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Trouble {
        Trouble::new(error.code(), &error)
    }
}

/// How the tasks of a load ended.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Tally {
    /// With the right value.
    pub(crate) values: u64,
    /// With an error, each with how many of them there were.
    pub(crate) errors: Vec<(Trouble, u64)>,
    /// When the last end came, in nanoseconds of the machine's clock.
    pub(crate) last_end: u64,
    /// What must never be: a task that ended twice, a wrong value.
    pub(crate) violations: Vec<String>,
}
