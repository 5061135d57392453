//! The seeded plan: victim, fault and moment of each round.

use std::fmt;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Victim {
    Worker,
    Daemon,
    Host,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Blow {
    Kill,
    Crash,
    /// SIGSTOP until every peer has noticed, then SIGKILL.
    StopThenKill,
    /// SIGSTOP until every peer has noticed, then SIGCONT: by then all peers have disconnected.
    StopThenContinue,
    /// SIGSTOP, then SIGCONT before any timeout: nothing is lost.
    Pause,
}

const VICTIMS: [Victim; 3] = [Victim::Worker, Victim::Daemon, Victim::Host];
const BLOWS: [Blow; 5] =
    [Blow::Kill, Blow::StopThenContinue, Blow::Crash, Blow::StopThenKill, Blow::Pause];

impl Blow {
    /// Whether the process still exists afterwards.
    pub(super) fn stops(self) -> bool {
        matches!(self, Blow::StopThenKill | Blow::StopThenContinue | Blow::Pause)
    }

    pub(super) fn budget(self) -> Duration {
        if self.stops() { Duration::from_secs(5) } else { Duration::from_secs(1) }
    }
}

impl fmt::Display for Victim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Victim::Worker => "worker",
            Victim::Daemon => "daemon",
            Victim::Host => "host",
        })
    }
}

impl fmt::Display for Blow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Blow::Kill => "killed",
            Blow::Crash => "crashed",
            Blow::StopThenKill => "stopped, then killed",
            Blow::StopThenContinue => "stopped, then continued",
            Blow::Pause => "paused",
        })
    }
}

#[derive(Debug, Clone)]
pub(super) struct Round {
    pub(super) victim: Victim,
    pub(super) blow: Blow,
    pub(super) in_flight: [u32; 3],
    pub(super) observer: usize,
    /// Number of the observer's answers before the blow.
    pub(super) after: u64,
    pub(super) seed: u64,
}

impl fmt::Display for Round {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Round { victim, blow, in_flight: [a, b, c], observer, after, .. } = self;
        write!(
            f,
            "{victim} {blow} after {after} answers of load {observer}, with {a}, {b} and {c} in flight"
        )
    }
}

impl Round {
    pub(super) fn figure(&self) -> String {
        let (class, how) = match self.blow {
            Blow::Kill => ("losses/killed", ""),
            Blow::Crash => ("losses/killed", "-by-a-crash"),
            Blow::StopThenKill => ("losses/stopped", "-then-killed"),
            Blow::StopThenContinue => ("losses/stopped", "-then-continued"),
            Blow::Pause => ("chaos/paused", ""),
        };
        format!("{class}/{}{how}", self.victim)
    }
}

/// Plans `rounds` rounds. Every pair of victim and blow comes once before any pair repeats.
pub(super) fn plan(rounds: u32, seed: u64) -> Vec<Round> {
    let mut random = fastrand::Rng::with_seed(seed);
    // A short run has every victim and every blow among its first rounds.
    let pairs: Vec<_> =
        (0..15).map(|index| (VICTIMS[index % VICTIMS.len()], BLOWS[index % BLOWS.len()])).collect();
    let mut round = |(victim, blow)| Round {
        victim,
        blow,
        in_flight: [(); 3].map(|()| random.u32(1..=32)),
        observer: random.usize(..3),
        after: random.u64(1..2000),
        seed: random.u64(..),
    };
    pairs.into_iter().cycle().take(rounds as usize).map(&mut round).collect()
}

/// Returns a lane's rounds with their indices in the plan. Rounds that break the daemon come last,
/// so the first daemon lives through all losses of workers and hosts, and small leaks add up.
pub(super) fn of_lane(plan: &[Round], lane: usize, lanes: usize) -> Vec<(usize, &Round)> {
    let mut rounds: Vec<_> = plan.iter().enumerate().skip(lane).step_by(lanes).collect();
    rounds.sort_by_key(|(_, round)| round.victim == Victim::Daemon);
    rounds
}

#[cfg(test)]
mod tests {
    use super::super::{FULL, LANES};
    use super::*;

    #[test]
    fn in_a_full_run_a_daemon_and_a_host_live_through_many_losses() {
        let plan = plan(FULL, 1);
        let mut seen = 0;
        for lane in 0..LANES {
            let rounds = of_lane(&plan, lane, LANES);
            seen += rounds.len();
            let losses = |rounds: &[(usize, &Round)]| {
                rounds.iter().filter(|(_, round)| round.blow != Blow::Pause).count()
            };
            let first_daemon = rounds
                .iter()
                .position(|(_, round)| round.victim == Victim::Daemon)
                .expect("a breaking one");
            let (daemon, host) = (losses(&rounds[..first_daemon]), losses(&rounds));
            assert!(daemon >= 26 && host >= 39, "lane {lane}: {daemon} and {host}");
        }
        assert_eq!(seen, plan.len());
    }

    #[test]
    fn every_pair_comes_once_before_any_comes_again() {
        let plan = plan(15, 1);
        for victim in VICTIMS {
            for blow in BLOWS {
                let times = plan
                    .iter()
                    .filter(|round| (round.victim, round.blow) == (victim, blow))
                    .count();
                assert_eq!(times, 1, "{victim} {blow}");
            }
        }
    }
}
