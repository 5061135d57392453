//! When to spin, yield and sleep. A worker polls briefly after the last work, then sleeps until a
//! host, UCX or its control thread wakes it. Plugins do not wake the worker, so it polls them
//! between sleeps: with a backoff to 1 ms while one owes answers, otherwise to 50 ms.

use std::{
    mem,
    time::{Duration, Instant},
};

/// Polling time after the last work; four times as long while plugins owe answers, or after an idle
/// period that was only a little longer: a sleep in it costs more than the polls.
const POLL: Duration = Duration::from_micros(50);
const SHORTEST: Duration = Duration::from_micros(20);
/// The longest sleep; a fiftieth of it while plugins owe answers.
const LONGEST: Duration = Duration::from_millis(50);

/// Turns between two reads of the clock: a read takes longer than a turn.
const TURNS: u32 = 16;

/// A process that keeps the core this long during a yield shares it with the worker.
const LONG_YIELD: Duration = Duration::from_micros(500);
/// A yield up to this long is normal among processes that yield, too.
const SHORT_YIELD: Duration = Duration::from_micros(20);

/// After two long yields without a short one between, the worker stops yielding for ten times the
/// second's duration. That time doubles with each further long yield, up to this limit. Processes
/// that all poll and yield have occasional long yields between short ones.
const LONGEST_CALM: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    Spin,
    Yield,
    Sleep(Duration),
}

#[derive(Debug, Default)]
pub(crate) struct IdleState {
    /// Start of the idle period; `None` during work, so that busy turns do not read the clock.
    since: Option<Instant>,
    /// Turns left before the next clock read.
    spins: u32,
    /// Until then, a process that does not yield is assumed to share the core.
    crowded: Option<Instant>,
    /// Duration of the last such assumption.
    calm: Duration,
    /// Whether there was a long yield, and no short one since.
    was_long: bool,
    /// Whether the worker slept since the last work.
    slept: bool,
    /// Whether the last idle period with a sleep was short.
    was_short: bool,
}

impl IdleState {
    /// Chooses the pause after a turn, by its work and by whether plugins owe answers.
    #[inline]
    pub(crate) fn after(
        &mut self,
        worked: bool,
        owing: bool,
        now: impl FnOnce() -> Instant,
    ) -> Pause {
        if worked {
            if mem::take(&mut self.slept) {
                self.was_short = self.since.is_some_and(|since| now() < since + 4 * POLL);
            }
            self.since = None;
            self.spins = 0;
            return Pause::Spin;
        }
        if self.spins > 0 {
            self.spins -= 1;
            return Pause::Spin;
        }
        let now = now();
        let Some(since) = self.since else {
            self.since = Some(now);
            self.spins = TURNS - 1;
            return Pause::Spin;
        };
        let idle = now.saturating_duration_since(since);
        if idle < POLL {
            self.spins = TURNS - 1;
        }
        if self.crowded.is_some_and(|until| now < until) {
            // The other process would keep the core for its whole time slice.
            if idle < POLL {
                return Pause::Spin;
            }
        } else if idle < POLL || (owing || self.was_short) && idle < 4 * POLL {
            return Pause::Yield;
        }
        let longest = if owing { LONGEST / 50 } else { LONGEST };
        self.slept = true;
        // Work that ends during a sleep waits at most an eighth of its own duration.
        Pause::Sleep((idle / 8).clamp(SHORTEST, longest))
    }

    pub(crate) fn yielded(&mut self, began: Instant, ended: Instant) {
        let away = ended.saturating_duration_since(began);
        if away < SHORT_YIELD {
            (self.was_long, self.calm) = (false, Duration::ZERO);
        }
        if away < LONG_YIELD || !mem::replace(&mut self.was_long, true) {
            return;
        }
        self.calm = (2 * self.calm).clamp(10 * away.min(LONGEST), LONGEST_CALM);
        self.crowded = Some(ended + self.calm);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs idle turns of 1 us and full sleeps. Returns each pause and its start.
    fn pauses(owing: bool, until: Duration) -> Vec<(Duration, Pause)> {
        let start = Instant::now();
        let (mut idle, mut at, mut seen) = (IdleState::default(), Duration::ZERO, Vec::new());
        assert_eq!(
            idle.after(true, owing, || unreachable!("no clock while there is work")),
            Pause::Spin
        );
        while at < until {
            let pause = idle.after(false, owing, || start + at);
            seen.push((at, pause));
            at += match pause {
                Pause::Sleep(time) => time,
                Pause::Spin | Pause::Yield => Duration::from_micros(1),
            };
        }
        seen
    }

    fn sleeps(seen: &[(Duration, Pause)]) -> Vec<(Duration, Duration)> {
        let sleep = |&(at, pause): &(Duration, Pause)| match pause {
            Pause::Sleep(time) => Some((at, time)),
            Pause::Spin | Pause::Yield => None,
        };
        seen.iter().filter_map(sleep).collect()
    }

    #[test]
    fn an_idle_worker_polls_shortly_and_then_wakes_20_times_a_second() {
        let seen = pauses(false, Duration::from_secs(10));
        let polled = seen.len() - sleeps(&seen).len();
        assert!((50..50 + TURNS as usize).contains(&polled), "{polled} turns of 1 us");
        assert!(seen[polled..].iter().all(|(_, pause)| matches!(pause, Pause::Sleep(_))));
        let last_second = seen.iter().filter(|(at, _)| *at >= Duration::from_secs(9)).count();
        assert!((19..=21).contains(&last_second), "{last_second}");
    }

    #[test]
    fn a_worker_whose_plugins_owe_answers_polls_at_a_falling_rate() {
        let sleeps = sleeps(&pauses(true, Duration::from_millis(100)));
        let (at, first) = sleeps[0];
        assert!(at >= 4 * POLL && first < 2 * SHORTEST, "{first:?} at {at:?}");
        assert!(sleeps.is_sorted_by_key(|(_, sleep)| *sleep));
        assert_eq!(sleeps.last().map(|(_, sleep)| *sleep), Some(LONGEST / 50));
        assert!(sleeps.iter().all(|(at, sleep)| *sleep == SHORTEST || *sleep * 8 <= *at));
    }

    #[test]
    fn a_worker_whose_work_comes_soon_after_it_fell_asleep_polls_longer_from_then_on() {
        let (start, mut idle) = (Instant::now(), IdleState::default());
        let mut at = Duration::ZERO;
        // Returns how long the worker polls before it sleeps; work comes after `gap`.
        let mut polls = |gap: Duration| {
            let began = at;
            while !matches!(idle.after(false, false, || start + at), Pause::Sleep(_)) {
                at += Duration::from_micros(1);
            }
            let polled = at - began;
            at = began + gap;
            idle.after(true, false, || start + at);
            polled
        };
        let [short, long] = [POLL, 4 * POLL].map(|poll| poll..poll + Duration::from_micros(20));
        assert!(short.contains(&polls(3 * POLL)));
        assert!(long.contains(&polls(10 * POLL)));
        assert!(short.contains(&polls(3 * POLL)), "the gap before was too long");
    }

    #[test]
    fn a_worker_that_polls_soon_lets_others_have_its_core() {
        for owing in [false, true] {
            let seen = pauses(owing, POLL);
            let yields: Vec<_> = seen.iter().filter(|(_, pause)| *pause == Pause::Yield).collect();
            assert!(yields.len() >= 2 && yields[0].0 < POLL / 2, "{yields:?}");
        }
    }

    #[test]
    fn a_worker_beside_a_busy_process_sleeps_for_a_while_and_does_not_yield() {
        let start = Instant::now();
        let mut idle = IdleState::default();
        // The first pause after work that is not a spin.
        let after_work = |idle: &mut IdleState, from: Duration| {
            idle.after(true, false, Instant::now);
            let mut at = from;
            loop {
                match idle.after(false, false, || start + at) {
                    Pause::Spin => at += Duration::from_micros(1),
                    pause => return pause,
                }
            }
        };
        assert_eq!(after_work(&mut idle, Duration::ZERO), Pause::Yield);
        let millis = Duration::from_millis;
        idle.yielded(start, start + millis(3));
        let mut at = millis(3);
        // Yields of medium length change nothing.
        idle.yielded(start + at, start + at + POLL);
        for crowded in [30, 60, 120, 240, 480, 960, 1000, 1000].map(millis) {
            assert_eq!(after_work(&mut idle, at), Pause::Yield, "at {at:?}");
            idle.yielded(start + at, start + at + millis(3));
            let ended = at + millis(3);
            for soon in [millis(1), crowded - millis(1)] {
                let pause = after_work(&mut idle, ended + soon);
                assert!(
                    matches!(pause, Pause::Sleep(_)),
                    "{pause:?} after {soon:?} of {crowded:?}"
                );
            }
            at = ended + crowded;
        }
        idle.yielded(start + at, start + at + SHORTEST / 2);
        for _ in 0..2 {
            idle.yielded(start + at, start + at + millis(3));
        }
        assert_eq!(after_work(&mut idle, at + millis(33)), Pause::Yield, "it starts anew");
    }

    #[test]
    fn a_worker_among_processes_that_yield_keeps_yielding_after_a_long_yield() {
        let (start, millis) = (Instant::now(), Duration::from_millis);
        let mut idle = IdleState::default();
        for round in 0..100 {
            let at = start + millis(10 * round);
            idle.yielded(at, at + SHORTEST / 2);
            idle.yielded(at, at + millis(3));
            assert_eq!(idle.crowded, None, "round {round}");
        }
    }

    #[test]
    fn an_answer_that_is_asked_for_later_is_soon_looked_for() {
        let (mut idle, start) = (IdleState::default(), Instant::now());
        for second in 0..100 {
            idle.after(false, false, || start + Duration::from_secs(second));
        }
        assert_eq!(idle.after(true, true, Instant::now), Pause::Spin);
        assert_eq!(idle.after(false, true, Instant::now), Pause::Spin);
    }
}
