//! What the owner of a queue and the thread that sends into it tell each other, and what the owner
//! concludes. The crate `models` tries every order of events.

use crate::sync::{AtomicBool, AtomicU32, Ordering};

/// How far the message is. It only gets further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    #[default]
    Unsent,
    /// UCX has it, and looks for a place in the queue.
    Sent,
    Arrived,
    /// There is no message, or it was lost.
    Failed,
}

impl Stage {
    const ALL: [Stage; 4] = [Stage::Unsent, Stage::Sent, Stage::Arrived, Stage::Failed];
}

#[derive(Debug)]
pub(crate) struct ProbeState {
    stage: AtomicU32,
    /// How often UCX has looked for a place in vain.
    turns: AtomicU32,
    abandoned: AtomicBool,
}

impl ProbeState {
    pub(crate) fn new() -> ProbeState {
        ProbeState {
            stage: AtomicU32::new(Stage::Unsent as u32),
            turns: AtomicU32::new(0),
            abandoned: AtomicBool::new(false),
        }
    }

    pub(crate) fn reach(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Release);
    }

    pub(crate) fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// For the sender: whether to go on.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.abandoned.load(Ordering::Acquire)
    }

    /// For the owner: it waits no longer.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    /// How far the message is. Its reader sees everything that was done before.
    pub(crate) fn stage(&self) -> Stage {
        let number = self.stage.load(Ordering::Acquire);
        let stage = Stage::ALL.into_iter().find(|stage| *stage as u32 == number);
        stage.unwrap_or_else(|| unreachable!("{number} is no stage: only `reach` writes it"))
    }
}

/// How much must be observed before a message counts as stuck.
#[derive(Debug)]
pub(crate) struct Enough {
    /// How often the owner must have found its queue empty since the message's last step: an owner
    /// that was stopped has not looked.
    pub(crate) looks: u32,
    /// How often UCX must have looked for a place in vain: on a loaded machine the thread's turns
    /// are far apart.
    pub(crate) turns: u32,
}

#[derive(Debug, Default)]
pub(crate) struct Seen {
    stage: Stage,
    looks: u32,
}

impl Seen {
    /// Whether the message got further since the last call. The owner looked at its queue before
    /// the call, and the message may have come in between: so neither that look nor earlier ones
    /// count.
    pub(crate) fn got_further(&mut self, state: &ProbeState) -> bool {
        let stage = state.stage();
        let further = stage > self.stage;
        if further {
            *self = Seen { stage, looks: 0 };
        }
        further
    }

    pub(crate) fn stage(&self) -> Stage {
        self.stage
    }

    /// Counts a look at the queue, which was `empty` or not, without the message. Returns whether
    /// that is enough.
    pub(crate) fn look(&mut self, state: &ProbeState, empty: bool, enough: &Enough) -> bool {
        self.looks += u32::from(empty);
        // UCX asked for a place again and again, or the message has one.
        let moved =
            self.stage == Stage::Arrived || state.turns.load(Ordering::Relaxed) >= enough.turns;
        self.looks >= enough.looks && moved
    }
}
