//! When to spin, when to yield, and how long to sleep.
//!
//! A worker spins for a moment after the last work, then sleeps until UCX or its control thread
//! wakes it. Plugins finish work without waking anybody, so they are polled: while one owes
//! answers, at a rate that falls from spinning to once a millisecond, otherwise to 20 times a
//! second. A turn that is much longer than usual moved a part of a message, and the rate starts
//! again.

use std::time::{Duration, Instant};

/// Spin this long after the last work.
const SPIN: Duration = Duration::from_micros(50);
/// Of that, keep the core to itself this long, and beside a busy process all of it.
const ALONE: Duration = Duration::from_micros(2);
/// A yield that takes this long was to a process that does not yield itself ...
const CROWDED: Duration = Duration::from_micros(500);
/// ... and that, or another, is taken to be there for this long; each time it is still there, for
/// twice as long, ...
const CROWDED_FIRST: Duration = Duration::from_millis(20);
/// ... up to this.
const CROWDED_LONGEST: Duration = Duration::from_secs(1);
/// While spinning, look at the clock every so many turns: it takes longer than a turn.
const CLOCK_TURNS: u32 = 16;
/// While plugins owe answers, poll without sleeping this long after the last work.
const OWING_YIELD: Duration = Duration::from_micros(200);
/// While plugins owe answers, sleep from ...
const OWING_FIRST: Duration = Duration::from_micros(20);
/// ... to this long at a time.
const OWING_LONGEST: Duration = Duration::from_millis(1);
/// Of the time since the last work, each sleep is this part: what ends meanwhile is found that much
/// later.
const PART: u32 = 8;
/// While plugins owe answers, a turn that takes this long ...
const LONG: Duration = Duration::from_micros(25);
/// ... and so many times as long as the shortest of its kind did something, such as move a part of
/// a long message.
const MUCH: u32 = 4;
/// Who moves a message has to wait for room now and then: when turns were long for this time, they
/// just are.
const ALWAYS: Duration = Duration::from_millis(10);
/// When nothing is owed, sleep from ...
const IDLE_FIRST: Duration = Duration::from_millis(1);
/// ... to this long at a time.
const IDLE_LONGEST: Duration = Duration::from_millis(50);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pause {
    Spin,
    Yield,
    Sleep(Duration),
}

#[derive(Debug)]
pub(crate) struct Idle {
    /// The first turn without work, or the last long one; `None` while there is work, so that a
    /// busy turn reads no clock.
    since: Option<Instant>,
    spins: u32,
    /// When the clock was last looked at, ...
    looked: Option<Instant>,
    /// ... and how many turns there are from then to the next look.
    turns: u32,
    /// Whether the last thing was a sleep: the turn after one is for all plugins.
    rested: bool,
    /// The shortest turn since the last work that followed another, and the shortest that followed
    /// a sleep.
    shortest: [Duration; 2],
    long_since: Option<Instant>,
    crowded: Option<Crowded>,
}

/// When there was last found to be a busy process on this core, and for how long that counts.
#[derive(Debug, Clone, Copy)]
struct Crowded {
    found: Instant,
    counts: Duration,
}

impl Crowded {
    fn counts_at(self, now: Instant) -> bool {
        now.saturating_duration_since(self.found) < self.counts
    }

    /// The same after it was found again.
    fn again(self, found: Instant) -> Crowded {
        let is_still_there = Crowded { counts: self.counts * 2, ..self }.counts_at(found);
        let counts = if is_still_there { self.counts * 2 } else { CROWDED_FIRST };
        Crowded { found, counts: counts.min(CROWDED_LONGEST) }
    }
}

impl Idle {
    pub(crate) fn new() -> Idle {
        Idle {
            since: None,
            spins: 0,
            looked: None,
            turns: 1,
            rested: false,
            shortest: [Duration::MAX; 2],
            long_since: None,
            crowded: None,
        }
    }

    /// After a turn: whether it did anything, and whether plugins owe answers.
    #[inline]
    pub(crate) fn after(
        &mut self,
        worked: bool,
        owing: bool,
        now: impl FnOnce() -> Instant,
    ) -> Pause {
        if worked {
            if self.since.take().is_some() {
                *self = Idle { crowded: self.crowded, ..Idle::new() };
            }
            return Pause::Spin;
        }
        if self.spins > 0 {
            self.spins -= 1;
            return Pause::Spin;
        }
        let now = now();
        let moved = self.has_moved(now) && owing;
        self.looked = Some(now);
        let since = if moved { now } else { self.since.unwrap_or(now) };
        self.since = Some(since);
        // Who moves something has had the core to itself for long, and will in its next turn.
        let alone = if moved { ALONE } else { Duration::ZERO };
        let pause = self.pause(now.saturating_duration_since(since) + alone, owing, now);
        if moved {
            self.spins = 0;
        }
        self.turns = self.spins + 1;
        pause
    }

    fn has_moved(&mut self, now: Instant) -> bool {
        let Some(looked) = self.looked else { return false };
        let turn = now.saturating_duration_since(looked) / self.turns;
        let shortest = &mut self.shortest[usize::from(std::mem::take(&mut self.rested))];
        // Before there was another of its kind, nobody knows.
        let is_long = *shortest < Duration::MAX && turn >= LONG.max(shortest.saturating_mul(MUCH));
        if !is_long {
            *shortest = turn.min(*shortest);
            self.long_since = None;
            return false;
        }
        let began = *self.long_since.get_or_insert(looked);
        now.saturating_duration_since(began) < ALWAYS
    }

    fn pause(&mut self, idle: Duration, owing: bool, now: Instant) -> Pause {
        if idle < SPIN {
            self.spins = CLOCK_TURNS - 1;
        }
        let is_crowded = self.crowded.is_some_and(|crowded| crowded.counts_at(now));
        // A sleep in the middle of a message costs more, and a yield much more.
        if idle < if is_crowded { SPIN } else { ALONE } {
            return Pause::Spin;
        }
        if !is_crowded && (idle < SPIN || owing && idle < OWING_YIELD) {
            return Pause::Yield;
        }
        self.spins = 0;
        let (first, longest) =
            if owing { (OWING_FIRST, OWING_LONGEST) } else { (IDLE_FIRST, IDLE_LONGEST) };
        Pause::Sleep((idle / PART).clamp(first, longest))
    }

    pub(crate) fn yielded(&mut self, began: Instant, ended: Instant) {
        if ended.saturating_duration_since(began) >= CROWDED {
            let first = Crowded { found: ended, counts: CROWDED_FIRST };
            self.crowded = Some(self.crowded.map_or(first, |crowded| crowded.again(ended)));
        }
        self.looked = Some(ended);
    }

    pub(crate) fn slept(&mut self, ended: Instant) {
        self.looked = Some(ended);
        self.rested = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs idle turns whose sleeps last as long as they may; the pauses, and when each began.
    fn pauses(owing: bool, until: Duration) -> Vec<(Duration, Pause)> {
        let start = Instant::now();
        let (mut idle, mut at, mut seen) = (Idle::new(), Duration::ZERO, Vec::new());
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
            match pause {
                Pause::Spin => {}
                Pause::Yield => idle.yielded(start + at, start + at),
                Pause::Sleep(_) => idle.slept(start + at),
            }
        }
        seen
    }

    #[test]
    fn an_idle_worker_spins_shortly_and_then_wakes_20_times_a_second() {
        let seen = pauses(false, Duration::from_secs(10));
        let spun = seen.iter().filter(|(_, pause)| !matches!(pause, Pause::Sleep(_))).count();
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
        assert!((OWING_FIRST..2 * OWING_FIRST).contains(&sleeps[0]), "{:?}", sleeps[0]);
        assert!(sleeps.is_sorted());
        assert_eq!(sleeps.last(), Some(&OWING_LONGEST));
        // What ends meanwhile is found soon, beside how long it took.
        let late = seen.iter().find(
            |(at, pause)| matches!(pause, Pause::Sleep(time) if *time > OWING_FIRST && *time > *at / 7),
        );
        assert_eq!(late, None);
    }

    /// What a worker does in the second after its first 20 ms without work, of which a turn takes
    /// `usual`, and one after a sleep `rested`: it has `extra` to do from then on, `for` so long.
    /// How long it sleeps, and how long it spins.
    fn asleep(owing: bool, [usual, rested, extra]: [Duration; 3], busy: Duration) -> [Duration; 2] {
        let (start, quiet) = (Instant::now(), Duration::from_millis(20));
        let (mut idle, mut at, mut after_sleep) = (Idle::new(), Duration::ZERO, false);
        let (mut slept, mut spun) = (Duration::ZERO, Duration::ZERO);
        while at < quiet + Duration::from_secs(1) {
            let counts = at >= quiet;
            let turn = if after_sleep { rested } else { usual }
                + if (quiet..quiet + busy).contains(&at) { extra } else { Duration::ZERO };
            at += turn;
            let pause = idle.after(false, owing, || start + at);
            after_sleep = matches!(pause, Pause::Sleep(_));
            match pause {
                Pause::Spin if counts => spun += turn,
                Pause::Spin => {}
                Pause::Yield => idle.yielded(start + at, start + at),
                Pause::Sleep(time) => {
                    slept += if counts { time } else { Duration::ZERO };
                    at += time;
                    idle.slept(start + at);
                }
            }
        }
        [slept, spun]
    }

    const USUAL: Duration = Duration::from_micros(1);
    /// Of a worker of 62 plugins.
    const RESTED: Duration = Duration::from_micros(30);

    #[test]
    fn a_worker_stays_awake_while_its_turns_for_a_plugin_that_owes_are_long() {
        for (rested, extra) in
            [(USUAL, LONG), (USUAL, 8 * LONG), (RESTED, 4 * LONG), (USUAL, 40 * LONG)]
        {
            let quiet = asleep(true, [USUAL, rested, Duration::ZERO], ALWAYS)[0];
            let [slept, spun] = asleep(true, [USUAL, rested, extra], ALWAYS);
            // It may have been asleep when that began.
            assert!(
                slept < quiet - ALWAYS + 2 * OWING_LONGEST,
                "{rested:?}, {extra:?}: {slept:?} of {quiet:?}"
            );
            // Nor does it keep its core from others.
            assert!(spun < 2 * CLOCK_TURNS * (USUAL + extra), "{rested:?}, {extra:?}: {spun:?}");
        }
    }

    #[test]
    fn turns_that_are_long_for_another_reason_keep_nobody_awake() {
        let always = Duration::from_secs(2);
        let cases = [
            ("little was moved", true, [USUAL, USUAL, LONG / 2], always),
            ("many plugins were looked at", true, [USUAL, RESTED, Duration::ZERO], always),
            ("the plugin always takes so long", true, [LONG, LONG, LONG], always),
            ("it does so from now on", true, [USUAL, USUAL, LONG], always),
            ("nobody owes anything", false, [USUAL, USUAL, LONG], always),
        ];
        for (why, owing, turns, busy) in cases {
            let [slept, _] = asleep(owing, turns, busy);
            assert!(slept > Duration::from_millis(750), "{why}: {slept:?}");
        }
    }

    #[test]
    fn a_worker_that_spins_soon_lets_others_have_its_core() {
        for owing in [false, true] {
            let seen = pauses(owing, SPIN);
            let yields: Vec<Duration> = seen
                .iter()
                .filter(|(_, pause)| *pause == Pause::Yield)
                .map(|(at, _)| *at)
                .collect();
            assert!((ALONE..SPIN / 2).contains(&yields[0]), "{yields:?}");
            assert!(yields.len() >= 2, "{yields:?}");
        }
    }

    #[test]
    fn a_worker_beside_a_busy_process_sleeps_in_place_of_yielding_for_a_while() {
        let start = Instant::now();
        let mut idle = Idle::new();
        // The first pause at least `ALONE` after work, and that work.
        let after_work = |idle: &mut Idle, from: Duration| {
            idle.after(true, false, Instant::now);
            let mut at = from;
            loop {
                match idle.after(false, false, || start + at) {
                    Pause::Spin => at += ALONE / 2,
                    pause => return pause,
                }
            }
        };
        assert_eq!(after_work(&mut idle, Duration::ZERO), Pause::Yield);
        idle.yielded(start, start + CROWDED / 2);
        assert_eq!(after_work(&mut idle, Duration::from_millis(1)), Pause::Yield);
        idle.yielded(start + Duration::from_millis(1), start + Duration::from_millis(4));
        assert_eq!(after_work(&mut idle, Duration::from_millis(5)), Pause::Sleep(IDLE_FIRST));
        assert_eq!(after_work(&mut idle, CROWDED_FIRST / 2), Pause::Sleep(IDLE_FIRST));
        assert_eq!(after_work(&mut idle, CROWDED_FIRST * 2), Pause::Yield);
    }

    #[test]
    fn a_process_that_stays_busy_costs_fewer_and_fewer_yields() {
        let start = Instant::now();
        let mut crowded = Crowded { found: start, counts: CROWDED_FIRST };
        for _ in 0..10 {
            let end = crowded.found + crowded.counts;
            assert!(!crowded.counts_at(end) && crowded.counts_at(end - CROWDED));
            let next = crowded.again(end + CROWDED);
            assert!(next.counts == (crowded.counts * 2).min(CROWDED_LONGEST), "{next:?}");
            crowded = next;
        }
        assert_eq!(crowded.counts, CROWDED_LONGEST);
        // After a while without one, it is another.
        assert_eq!(crowded.again(start + 60 * CROWDED_LONGEST).counts, CROWDED_FIRST);
    }

    #[test]
    fn an_answer_that_is_asked_for_later_is_soon_looked_for() {
        let mut idle = Idle::new();
        let start = Instant::now();
        for second in 0..100 {
            idle.after(false, false, || start + Duration::from_secs(second));
        }
        assert_eq!(idle.after(true, true, Instant::now), Pause::Spin);
        assert_eq!(idle.after(false, true, Instant::now), Pause::Spin);
    }
}
