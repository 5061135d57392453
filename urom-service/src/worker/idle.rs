//! When to spin, when to yield, and how long to sleep.
//!
//! A worker spins for a moment after the last work, because the next command often comes soon. Then it sleeps until UCX
//! or its control thread wakes it. But plugins finish work without waking anybody: they must be polled. While one of
//! them owes answers this goes on at a rate that falls from spinning to once a millisecond; otherwise it falls to 20
//! times a second.

use std::time::{Duration, Instant};

/// Spin this long after the last work.
const SPIN: Duration = Duration::from_micros(50);
/// While spinning, look at the clock every so many turns: it takes longer than a turn.
const CLOCK_TURNS: u32 = 16;
/// While plugins owe answers, poll without sleeping this long after the last work.
const OWING_YIELD: Duration = Duration::from_micros(200);
/// While plugins owe answers, sleep from ...
const OWING_FIRST: Duration = Duration::from_micros(20);
/// ... to this long at a time.
const OWING_LONGEST: Duration = Duration::from_millis(1);
/// When nothing is owed, sleep from ...
const IDLE_FIRST: Duration = Duration::from_millis(1);
/// ... to this long at a time.
const IDLE_LONGEST: Duration = Duration::from_millis(50);

/// What to do before the next turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    /// Nothing.
    Spin,
    /// Let others run.
    Yield,
    /// Sleep until woken, or this long.
    Sleep(Duration),
}

/// How long there has been nothing to do.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    /// The first turn without work; `None` while there is work, so that a busy turn reads no clock.
    since: Option<Instant>,
    /// How many turns to spin before the next look at the clock.
    spins: u32,
    /// The last sleep.
    slept: Duration,
}

impl Idle {
    /// After a turn: whether it did anything, and whether plugins owe answers.
    #[inline]
    pub(crate) fn after(&mut self, worked: bool, owing: bool, now: impl FnOnce() -> Instant) -> Pause {
        if worked {
            self.since = None;
            self.spins = 0;
            return Pause::Spin;
        }
        if self.spins > 0 {
            self.spins -= 1;
            return Pause::Spin;
        }
        let now = now();
        let since = *self.since.get_or_insert_with(|| {
            self.slept = Duration::ZERO;
            now
        });
        let idle = now.saturating_duration_since(since);
        if idle < SPIN {
            self.spins = CLOCK_TURNS - 1;
            return Pause::Spin;
        }
        if owing && idle < OWING_YIELD {
            return Pause::Yield;
        }
        let (first, longest) = if owing { (OWING_FIRST, OWING_LONGEST) } else { (IDLE_FIRST, IDLE_LONGEST) };
        self.slept = (self.slept * 2).clamp(first, longest);
        Pause::Sleep(self.slept)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs idle turns whose sleeps last as long as they may; the pauses, and when each began.
    fn pauses(owing: bool, until: Duration) -> Vec<(Duration, Pause)> {
        let start = Instant::now();
        let (mut idle, mut at, mut seen) = (Idle::default(), Duration::ZERO, Vec::new());
        assert_eq!(idle.after(true, owing, || unreachable!("no clock while there is work")), Pause::Spin);
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

    #[test]
    fn an_idle_worker_spins_shortly_and_then_wakes_20_times_a_second() {
        let seen = pauses(false, Duration::from_secs(10));
        let spun = seen.iter().filter(|(_, pause)| *pause == Pause::Spin).count();
        assert!((50..50 + CLOCK_TURNS as usize).contains(&spun), "{spun} turns of 1 us");
        assert!(seen[spun..].iter().all(|(_, pause)| matches!(pause, Pause::Sleep(_))));
        let last_second = seen.iter().filter(|(at, _)| *at >= Duration::from_secs(9)).count();
        assert!((19..=21).contains(&last_second), "{last_second}");
    }

    #[test]
    fn a_worker_whose_plugins_owe_answers_polls_at_a_falling_rate() {
        let seen = pauses(true, Duration::from_millis(100));
        assert!(seen.iter().any(|(_, pause)| *pause == Pause::Yield));
        let sleeps: Vec<Duration> = seen
            .iter()
            .filter_map(|(_, pause)| match pause {
                Pause::Sleep(time) => Some(*time),
                Pause::Spin | Pause::Yield => None,
            })
            .collect();
        assert_eq!(sleeps[0], OWING_FIRST);
        assert!(sleeps.is_sorted());
        assert_eq!(sleeps.last(), Some(&OWING_LONGEST));
    }

    #[test]
    fn an_answer_that_is_asked_for_later_is_soon_looked_for() {
        let mut idle = Idle::default();
        let start = Instant::now();
        for second in 0..100 {
            idle.after(false, false, || start + Duration::from_secs(second));
        }
        assert_eq!(idle.after(true, true, Instant::now), Pause::Spin);
        assert_eq!(idle.after(false, true, Instant::now), Pause::Spin);
    }
}
