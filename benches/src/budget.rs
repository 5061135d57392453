//! The budgets, row by row as the design states them, and what a run makes of them.
//!
//! A row names the figures it is about. Suites need not know the budgets: they measure and name what they measured.

use serde::Serialize;

use crate::figure::{Bound, Budget, Figure};

/// What of a figure is held against the budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Of {
    /// Its value.
    Value,
    /// Its value over the peer's.
    Ratio,
    /// The peer's over its value: how many times faster it is.
    TimesFaster,
}

/// One row of the table.
#[derive(Debug, Serialize)]
pub(crate) struct Row {
    /// What a reader is told.
    pub(crate) what: &'static str,
    /// The suite that measures it.
    pub(crate) suite: &'static str,
    /// The figure, or with a `*` at the end all that begin so. The worst of them counts.
    pub(crate) figures: &'static str,
    pub(crate) of: Of,
    pub(crate) bound: Bound,
    pub(crate) least: f64,
    pub(crate) goal: Option<f64>,
}

/// A row of the ratio to a peer that should be small.
const fn ratio(
    what: &'static str,
    suite: &'static str,
    figures: &'static str,
    least: f64,
    goal: f64,
) -> Row {
    Row { what, suite, figures, of: Of::Ratio, bound: Bound::AtMost, least, goal: Some(goal) }
}

/// A row of the ratio to a peer that should be large.
const fn share(what: &'static str, figures: &'static str, least: f64, goal: f64) -> Row {
    Row {
        what,
        suite: "loopback",
        figures,
        of: Of::Ratio,
        bound: Bound::AtLeast,
        least,
        goal: Some(goal),
    }
}

/// A row of how many times faster than a peer.
const fn faster(what: &'static str, figures: &'static str, least: f64) -> Row {
    Row {
        what,
        suite: "peers",
        figures,
        of: Of::TimesFaster,
        bound: Bound::AtLeast,
        least,
        goal: None,
    }
}

/// A row of what the kit is compared with: raw UCX would be too easy a peer if its loop were slower than UCX's own.
const fn peer_check(what: &'static str, figures: &'static str) -> Row {
    let (of, bound) = (Of::Ratio, Bound::AtMost);
    Row { what, suite: "ucx_perftest", figures, of, bound, least: 1.1, goal: None }
}

/// A row of a value by itself that should be small.
const fn value(what: &'static str, suite: &'static str, figures: &'static str, least: f64) -> Row {
    Row { what, suite, figures, of: Of::Value, bound: Bound::AtMost, least, goal: None }
}

/// A row of how many there can be.
const fn count(what: &'static str, figures: &'static str, least: f64) -> Row {
    Row { what, suite: "scale", figures, of: Of::Value, bound: Bound::AtLeast, least, goal: None }
}

/// All of them.
pub(crate) const ROWS: &[Row] = &[
    ratio(
        "loopback round trip, 8 bytes, shared memory, against raw UCX",
        "loopback",
        "loopback/round-trip/shm/uromd/1-host/1",
        1.5,
        1.2,
    ),
    ratio("the same over TCP", "loopback", "loopback/round-trip/tcp/uromd/1-host/1", 1.05, 1.02),
    peer_check(
        "raw loop's round trip against ucx_perftest, shared memory",
        "ucx_perftest/round-trip/shm/40",
    ),
    peer_check("the same over TCP", "ucx_perftest/round-trip/tcp/40"),
    share(
        "loopbacks per second, 64 in flight, shared memory, against raw UCX",
        "loopback/rate/shm/uromd/1-host/64",
        0.8,
        1.3,
    ),
    share("the same over TCP", "loopback/rate/tcp/uromd/1-host/64", 3.0, 15.0),
    ratio(
        "time in a Rust plugin against the same in C: round trip",
        "plugin-in-c",
        "plugin-in-c/round-trip/*",
        1.0,
        0.95,
    ),
    ratio("the same for each of 64 in flight", "plugin-in-c", "plugin-in-c/in-flight/*", 1.0, 0.95),
    ratio(
        "sandbox tag send, 4000 bytes inline, against a raw tag send and a raw round trip",
        "sandbox",
        "sandbox/inline/shm/4000",
        1.2,
        1.1,
    ),
    ratio(
        "encode and decode, instructions, against a memcpy pack in C",
        "codec",
        "codec/*",
        1.1,
        1.0,
    ),
    ratio(
        "a command in the graph plugin, instructions, against the same in C",
        "codec",
        "plugin/graph/*",
        1.0,
        0.95,
    ),
    ratio(
        "the same in the sandbox plugin, both over shared memory, with all that UCX does",
        "codec",
        "plugin/sandbox/*",
        1.1,
        1.0,
    ),
    Row {
        goal: Some(0.0),
        ..value(
            "heap allocations per command besides the two descriptors",
            "allocations",
            "allocations/per-command/*",
            0.0,
        )
    },
    value(
        "messages that a command which is alone takes, each way",
        "messages",
        "messages/alone/*",
        1.0,
    ),
    Row {
        bound: Bound::AtLeast,
        ..value(
            "part of such commands that have left when submit returns",
            "messages",
            "messages/sent-at-once/*",
            1.0,
        )
    },
    value("CPU of an idle worker, % of a core", "idle", "idle/cpu/*", 1.0),
    value(
        "first command after idle, median and 99th of 100, median launch, us",
        "idle",
        "idle/first-command/*",
        200.0,
    ),
    faster("times faster than a tonic unary echo, TCP, spinning", "peers/tonic/tcp-spinning", 8.0),
    faster("the same, asleep between messages", "peers/tonic/tcp-asleep", 1.3),
    faster("the same, shared memory, spinning", "peers/tonic/shm-spinning", 150.0),
    value(
        "a killed peer is noticed by every host with tasks on it, s",
        "losses",
        "losses/killed/*",
        1.0,
    ),
    value("a stopped one, s", "losses", "losses/stopped/*", 5.0),
    value("one that is cut off, s", "losses", "losses/cut-off/*", 5.0),
    count("workers on one daemon", "scale/workers-on-one-daemon", 256.0),
    count("plugins in one worker", "scale/plugins-in-one-worker", 62.0),
];

/// What a run says about a row.
#[derive(Debug, Serialize)]
pub(crate) struct Verdict {
    #[serde(flatten)]
    pub(crate) row: &'static Row,
    /// The figure that counts: the worst.
    pub(crate) figure: Option<String>,
    /// What was held against the budget.
    pub(crate) measured: Option<f64>,
    /// That figure's value, its unit, and its peer's value.
    pub(crate) value: Option<f64>,
    pub(crate) unit: Option<String>,
    pub(crate) peer: Option<f64>,
    /// Nothing when nothing was measured.
    pub(crate) met: Option<bool>,
    /// Whether the goal was reached as well; nothing without a goal or a measurement.
    pub(crate) goal_met: Option<bool>,
}

impl Row {
    fn is_about(&self, figure: &Figure) -> bool {
        match self.figures.strip_suffix('*') {
            Some(start) => figure.name.starts_with(start),
            None => figure.name == self.figures,
        }
    }

    /// What of `figure` counts here; nothing when it lacks that.
    fn measured(&self, figure: &Figure) -> Option<f64> {
        match self.of {
            Of::Value => Some(figure.value),
            Of::Ratio => figure.ratio,
            Of::TimesFaster => figure.ratio.map(|ratio| 1.0 / ratio),
        }
    }

    fn worse(&self, a: f64, b: f64) -> bool {
        // What is no number keeps no budget, and stays the worst.
        if a.is_nan() || b.is_nan() {
            return a.is_nan();
        }
        match self.bound {
            Bound::AtMost => a > b,
            Bound::AtLeast => a < b,
        }
    }
}

/// Writes into each figure of a row what it is held against and whether that holds, and says what became of each row.
pub(crate) fn judge(figures: &mut [Figure]) -> Vec<Verdict> {
    ROWS.iter().map(|row| verdict(row, figures)).collect()
}

fn verdict(row: &'static Row, figures: &mut [Figure]) -> Verdict {
    let mut worst: Option<(&Figure, f64)> = None;
    for figure in figures.iter_mut().filter(|figure| row.is_about(figure)) {
        let Some(measured) = row.measured(figure) else { continue };
        figure.budget = Some(Budget { bound: row.bound, least: row.least, goal: row.goal });
        figure.met = Some(row.bound.holds(measured, row.least));
        if worst.is_none_or(|(_, least)| row.worse(measured, least)) {
            worst = Some((figure, measured));
        }
    }
    let measured = worst.map(|(_, measured)| measured);
    let figure = worst.map(|(figure, _)| figure);
    Verdict {
        row,
        figure: figure.map(|figure| figure.name.clone()),
        measured,
        value: figure.map(|figure| figure.value),
        unit: figure.map(|figure| figure.unit.clone()),
        peer: figure.and_then(|figure| figure.peer.as_ref()).map(|peer| peer.value),
        met: measured.map(|measured| row.bound.holds(measured, row.least)),
        goal_met: measured.zip(row.goal).map(|(measured, goal)| row.bound.holds(measured, goal)),
    }
}

/// Whether a run may call itself a success: nothing is missed and, when it is to be `complete`, nothing is missing.
pub(crate) fn success(verdicts: &[Verdict], complete: bool) -> bool {
    verdicts.iter().all(|verdict| verdict.met.unwrap_or(!complete))
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROUND_TRIP: &str = "loopback/round-trip/shm/uromd/1-host/1";

    fn of<'a>(verdicts: &'a [Verdict], figures: &str) -> &'a Verdict {
        verdicts.iter().find(|verdict| verdict.row.figures == figures).unwrap()
    }

    #[test]
    fn a_ratio_is_held_against_budget_and_goal() {
        for (value, met, goal_met) in
            [(11.0, true, true), (15.0, true, false), (15.1, false, false)]
        {
            let mut figures = [Figure::new(ROUND_TRIP, "ns", value).against("raw UCX", 10.0)];
            let verdicts = judge(&mut figures);
            let verdict = of(&verdicts, ROUND_TRIP);
            assert_eq!((verdict.met, verdict.goal_met), (Some(met), Some(goal_met)), "{value}");
            assert_eq!(figures[0].met, Some(met));
            assert_eq!(success(&verdicts, false), met);
        }
    }

    #[test]
    fn what_is_no_number_is_missed_wherever_it_stands() {
        for values in [[f64::NAN, 0.0, 0.0], [0.0, f64::NAN, 0.0], [0.0, 0.0, f64::NAN]] {
            let mut figures = values
                .map(|value| Figure::new(format!("allocations/per-command/{value}"), "", value));
            assert_eq!(
                of(&judge(&mut figures), "allocations/per-command/*").met,
                Some(false),
                "{values:?}"
            );
        }
    }

    #[test]
    fn the_worst_of_several_figures_counts() {
        let mut figures = [0.0, 2.0, 1.0]
            .map(|value| Figure::new(format!("allocations/per-command/{value}"), "", value));
        let verdicts = judge(&mut figures);
        let verdict = of(&verdicts, "allocations/per-command/*");
        assert_eq!((verdict.measured, verdict.met), (Some(2.0), Some(false)));
        assert_eq!(figures.map(|figure| figure.met), [Some(true), Some(false), Some(false)]);
    }

    #[test]
    fn times_faster_is_the_inverse_of_the_ratio() {
        let mut figures =
            [Figure::new("peers/tonic/tcp-spinning", "us", 10.0).against("tonic", 121.0)];
        let verdicts = judge(&mut figures);
        assert_eq!(of(&verdicts, "peers/tonic/tcp-spinning").measured.map(f64::round), Some(12.0));
    }

    #[test]
    fn a_row_that_nobody_measured_fails_a_complete_run_only() {
        let verdicts = judge(&mut []);
        assert_eq!(verdicts.len(), ROWS.len());
        assert!(verdicts.iter().all(|verdict| verdict.met.is_none()));
        assert!(success(&verdicts, false) && !success(&verdicts, true));
    }

    #[test]
    fn a_figure_without_a_peer_is_no_measurement_of_a_ratio() {
        assert_eq!(of(&judge(&mut [Figure::new(ROUND_TRIP, "ns", 1.0)]), ROUND_TRIP).met, None);
    }
}
