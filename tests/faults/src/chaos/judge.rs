//! Whether an error says what happened.
//!
//! A control stream is closed when its process has ended, and silent when it was stopped. Over TCP,
//! UCX may break the connection first and gives no reason.

use anyhow::{Result, ensure};

use super::plan::{Blow, Victim};
use crate::host::{Tally, Trouble};
use crate::transports::Transports;

/// How a stream ends whose other side is gone, and one whose other side says nothing.
const ENDED: [&str; 2] = ["the connection was closed by the other side", "the connection broke: "];
const SILENT: [&str; 1] = ["the other side was silent for "];

/// What is found out by sending, by UCX or by the library before UCX says more.
const BROKEN: [&str; 2] =
    ["was lost: UCX says ", "the connection to it broke as the command was sent"];

/// What comes before the cause, in the words of a host about a worker, and of a worker that ends
/// with its daemon.
const WORKER: &str = " was lost: ";
const DAEMON: &str = " was stopped because its daemon is gone: ";

/// What was broken, and so has to be in the errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    pub(super) victim: Victim,
    pub(super) blow: Blow,
    pub(super) transports: Transports,
}

impl Cause {
    /// Checks the errors of a load whose worker was lost.
    pub(super) fn is_named_by(self, tally: &Tally, worker: u64) -> Result<()> {
        ensure!(!tally.errors.is_empty(), "nothing failed: {tally:?}");
        tally.errors.iter().try_for_each(|(trouble, _)| self.check(trouble, worker))
    }

    fn check(self, trouble: &Trouble, worker: u64) -> Result<()> {
        let text = &trouble.text;
        let worker = format!("worker {worker}");
        ensure!(text.contains(&worker), "an error that does not say which worker: {text}");
        let unspecific =
            self.transports == Transports::Tcp && BROKEN.iter().any(|broken| text.contains(broken));
        ensure!(
            unspecific || self.is_named_in(text),
            "an error that does not say why the worker was lost ({} {}): {text}",
            self.victim,
            self.blow
        );
        Ok(())
    }

    /// Whether a text that comes from the end of a stream says whose end that was, and how it came.
    fn is_named_in(self, text: &str) -> bool {
        let ends = |who, how: &[&str]| {
            text.split_once(who).is_some_and(|(_, end)| how.iter().any(|how| end.starts_with(how)))
        };
        match (self.victim, self.blow.stops()) {
            (Victim::Worker, false) => ends(WORKER, &ENDED),
            // Its daemon gives it up when its hosts do, and ends it.
            (Victim::Worker, true) => ends(WORKER, &SILENT) || ends(WORKER, &ENDED),
            (Victim::Daemon, stopped) => ends(DAEMON, if stopped { &SILENT } else { &ENDED }),
            // Only one that was stopped is there to be told. It was given up meanwhile, or finds
            // that it heard nothing.
            (Victim::Host, stopped) => stopped && (ends(WORKER, &ENDED) || ends(WORKER, &SILENT)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CLOSED: &str = "worker 1 at 127.0.0.1:4000 was lost: the connection was closed by the other side; start it again";
    const SILENT: &str =
        "worker 1 at 127.0.0.1:4000 was lost: the other side was silent for 3.5 s: it was stopped";
    const DAEMON_CLOSED: &str = "worker 1 was stopped because its daemon is gone: the connection was closed by the other side";
    const DAEMON_SILENT: &str =
        "worker 1 was stopped because its daemon is gone: the other side was silent for 3.5 s";
    const UCX: &str = "worker 1 was lost: UCX says Connection reset by remote peer; start it again";

    fn passes(victim: Victim, blow: Blow, transports: Transports, text: &str) -> bool {
        let trouble = Trouble { code: 0, text: text.to_owned() };
        Cause { victim, blow, transports }.check(&trouble, 1).is_ok()
    }

    #[test]
    fn a_cause_is_that_of_its_victim_and_of_its_blow() {
        let all = [CLOSED, SILENT, DAEMON_CLOSED, DAEMON_SILENT];
        for (victim, blow, right) in [
            (Victim::Worker, Blow::Kill, [true, false, false, false]),
            (Victim::Worker, Blow::Crash, [true, false, false, false]),
            (Victim::Worker, Blow::StopThenKill, [true, true, false, false]),
            (Victim::Daemon, Blow::Kill, [false, false, true, false]),
            (Victim::Daemon, Blow::StopThenContinue, [false, false, false, true]),
            (Victim::Host, Blow::StopThenContinue, [true, true, false, false]),
        ] {
            let passed = all.map(|text| passes(victim, blow, Transports::Tcp, text));
            assert_eq!(passed, right, "{victim} {blow}");
        }
    }

    #[test]
    fn what_says_less_passes_only_where_it_is_all_that_can_be_known() {
        let ucx = |transports| passes(Victim::Worker, Blow::Kill, transports, UCX);
        assert!(ucx(Transports::Tcp) && !ucx(Transports::All));
        let other = CLOSED.replace("worker 1", "worker 2");
        assert!(!passes(Victim::Worker, Blow::Kill, Transports::Tcp, &other));
    }
}
