//! What the owner of a queue and the thread that sends a message into it tell each other, and what the owner makes of it. The crate
//! `models` tries every order of it.

use crate::sync::{AtomicBool, AtomicU32, Ordering};

/// How far the message is. It only gets further.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Stage {
    /// With its thread, which is setting up what it needs.
    #[default]
    Unsent,
    /// With UCX, which looks for a place in the queue.
    Sent,
    /// In the queue, where it needs nobody any more.
    Arrived,
    /// Nowhere: there is none, or none any more.
    Failed,
}

impl Stage {
    const ALL: [Stage; 4] = [Stage::Unsent, Stage::Sent, Stage::Arrived, Stage::Failed];
}

/// Between the two threads.
#[derive(Debug)]
pub(crate) struct ProbeState {
    /// The number of the stage, which the sender writes.
    stage: AtomicU32,
    /// How often UCX has looked for a place in vain.
    turns: AtomicU32,
    /// Nobody waits for the message any more.
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

    /// The sender's: the message got so far.
    pub(crate) fn reach(&self, stage: Stage) {
        self.stage.store(stage as u32, Ordering::Release);
    }

    /// The sender's: UCX has looked for a place in vain.
    pub(crate) fn turn(&self) {
        self.turns.fetch_add(1, Ordering::Relaxed);
    }

    /// The sender's: whether to go on.
    pub(crate) fn is_wanted(&self) -> bool {
        !self.abandoned.load(Ordering::Acquire)
    }

    /// The owner's: it waits no longer.
    pub(crate) fn abandon(&self) {
        self.abandoned.store(true, Ordering::Release);
    }

    /// How far the message is. What was done before is seen by whoever sees that it got there.
    pub(crate) fn stage(&self) -> Stage {
        let number = self.stage.load(Ordering::Acquire);
        let stage = Stage::ALL.into_iter().find(|stage| *stage as u32 == number);
        stage.unwrap_or_else(|| unreachable!("{number} is no stage: only `reach` writes it"))
    }
}

/// How much has to be seen of a message before it counts as one that does not come out.
#[derive(Debug)]
pub(crate) struct Enough {
    /// How often the owner must have found its queue empty since the message got where it is: one that was stopped itself has not
    /// looked.
    pub(crate) looks: u32,
    /// How often UCX must have looked in vain for a place for one that has none: on a machine with many processes its thread's turns
    /// are far apart.
    pub(crate) turns: u32,
}

/// What the owner has seen.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    stage: Stage,
    looks: u32,
}

impl Seen {
    /// Whether the message got further since this was last asked. The owner looked at its queue before it asks, and the message may have
    /// come in between: so that look counts for nothing, and those before it do not either.
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

    /// Another look at the queue, where the message was not: whether it was `empty`. Whether that is enough now.
    pub(crate) fn look(&mut self, state: &ProbeState, empty: bool, enough: &Enough) -> bool {
        self.looks += u32::from(empty);
        // Asked for its place again and again, or in it.
        let moved =
            self.stage == Stage::Arrived || state.turns.load(Ordering::Relaxed) >= enough.turns;
        self.looks >= enough.looks && moved
    }
}
