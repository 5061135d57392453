//! Checks that an error contains its cause.
//!
//! The control stream of a dead process is closed; the stream of a stopped process is silent. Over
//! TCP, UCX may break the connection first, without a reason.

use anyhow::{Result, ensure};

use super::plan::{Blow, Victim};
use crate::host::{Tally, Trouble};
use crate::transports::Transports;

/// Errors when the other side is dead (`ENDED`) or silent (`SILENT`).
const ENDED: [&str; 2] = ["the connection was closed by the other side", "the connection broke: "];
const SILENT: [&str; 1] = ["the other side was silent for "];

/// Errors of a send, from UCX or from the library before UCX reports more.
const BROKEN: [&str; 2] =
    ["was lost: UCX says ", "the connection to it broke as the command was sent"];

/// Text before the cause: in a host's error about a worker, and in the error of a worker that ends
/// with its daemon.
const WORKER: &str = " was lost: ";
const DAEMON: &str = " was stopped because its daemon has ended: ";

#[derive(Debug, Clone, Copy)]
pub(super) struct Cause {
    pub(super) victim: Victim,
    pub(super) blow: Blow,
    pub(super) transports: Transports,
}

impl Cause {
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

    fn is_named_in(self, text: &str) -> bool {
        let ends = |who, how: &[&str]| {
            text.split_once(who).is_some_and(|(_, end)| how.iter().any(|how| end.starts_with(how)))
        };
        match (self.victim, self.blow.stops()) {
            (Victim::Worker, false) => ends(WORKER, &ENDED),
            // The daemon detects the silence as its hosts do, and ends the worker.
            (Victim::Worker, true) => ends(WORKER, &SILENT) || ends(WORKER, &ENDED),
            (Victim::Daemon, stopped) => ends(DAEMON, if stopped { &SILENT } else { &ENDED }),
            // Only a stopped host survives to get the error: the peers closed its stream, or its
            // own timeout fires.
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
    const DAEMON_CLOSED: &str = "worker 1 was stopped because its daemon has ended: the connection was closed by the other side";
    const DAEMON_SILENT: &str =
        "worker 1 was stopped because its daemon has ended: the other side was silent for 3.5 s";
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
    fn a_less_specific_reason_passes_only_if_no_better_one_is_available() {
        let ucx = |transports| passes(Victim::Worker, Blow::Kill, transports, UCX);
        assert!(ucx(Transports::Tcp) && !ucx(Transports::All));
        let other = CLOSED.replace("worker 1", "worker 2");
        assert!(!passes(Victim::Worker, Blow::Kill, Transports::Tcp, &other));
    }
}
