//! The budgets of `budgets.json`, and whether a run's figures meet them. A row names its figures;
//! suites only measure.

use serde::Deserialize;

use crate::cache_line::Distance;
use crate::figure::Figure;

#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Row {
    pub(crate) what: String,
    /// A figure's name. A `*` matches any text; the worst figure counts.
    pub(crate) figures: String,
    pub(crate) of: Of,
    #[serde(flatten)]
    pub(crate) limit: Limit,
    pub(crate) goal: Option<f64>,
    pub(crate) cores: Option<Distance>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Of {
    Value,
    Ratio,
    TimesFaster,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Limit {
    AtMost(f64),
    AtLeast(f64),
}

impl Limit {
    /// Whether `measured` meets the limit; NaN never does.
    pub(crate) fn holds(self, measured: f64) -> bool {
        match self {
            Limit::AtMost(most) => measured <= most,
            Limit::AtLeast(least) => measured >= least,
        }
    }

    pub(crate) fn with(self, value: f64) -> Limit {
        match self {
            Limit::AtMost(_) => Limit::AtMost(value),
            Limit::AtLeast(_) => Limit::AtLeast(value),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Verdict<'a> {
    pub(crate) row: Row,
    pub(crate) figure: Option<&'a Figure>,
    pub(crate) measured: Option<f64>,
    pub(crate) met: Option<bool>,
    /// `None` without a goal or a measurement.
    pub(crate) goal_met: Option<bool>,
}

impl Row {
    /// Whether a launch was on the row's cores. Without a launch on near or far cores, the row on
    /// far cores applies.
    fn applies(&self, figures: &[Figure]) -> bool {
        let on =
            |cores| figures.iter().any(|figure| self.is_named(figure) && figure.cores == cores);
        match self.cores {
            Some(Distance::Far) => on(self.cores) || !on(Some(Distance::Near)),
            cores => cores.is_none() || on(cores),
        }
    }

    fn is_about(&self, figure: &Figure) -> bool {
        self.cores == figure.cores && self.is_named(figure)
    }

    fn is_named(&self, figure: &Figure) -> bool {
        match self.figures.split_once('*') {
            Some((start, end)) => {
                let rest = figure.name.strip_prefix(start);
                rest.is_some_and(|rest| rest.ends_with(end))
            }
            None => figure.name == self.figures,
        }
    }

    fn measured(&self, figure: &Figure) -> Option<f64> {
        match self.of {
            Of::Value => Some(figure.kit.value),
            Of::Ratio => figure.ratio,
            Of::TimesFaster => figure.ratio.map(|ratio| 1.0 / ratio),
        }
    }

    fn worse(&self, a: f64, b: f64) -> bool {
        // NaN never meets a budget, so it is worse than any number.
        a.is_nan() || !b.is_nan() && a != b && !self.limit.with(b).holds(a)
    }

    fn verdict(self, figures: &[Figure]) -> Verdict<'_> {
        let mut worst: Option<(&Figure, f64)> = None;
        for figure in figures.iter().filter(|figure| self.is_about(figure)) {
            let Some(measured) = self.measured(figure) else { continue };
            if worst.is_none_or(|(_, other)| self.worse(measured, other)) {
                worst = Some((figure, measured));
            }
        }
        let measured = worst.map(|(_, measured)| measured);
        Verdict {
            figure: worst.map(|(figure, _)| figure),
            measured,
            met: measured.map(|measured| self.limit.holds(measured)),
            goal_met: measured.zip(self.goal).map(|(at, goal)| self.limit.with(goal).holds(at)),
            row: self,
        }
    }
}

pub(crate) fn rows() -> Vec<Row> {
    serde_json::from_str(include_str!("../budgets.json")).expect("budgets.json is well formed")
}

pub(crate) fn judge(figures: &[Figure]) -> Vec<Verdict<'_>> {
    let rows = rows().into_iter().filter(|row| row.applies(figures));
    rows.map(|row| row.verdict(figures)).collect()
}

/// Whether all rows are met; a `complete` run must also measure all of them.
pub(crate) fn success(verdicts: &[Verdict<'_>], complete: bool) -> bool {
    verdicts.iter().all(|verdict| verdict.met.unwrap_or(!complete))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::merge;

    const ROUND_TRIP: &str = "loopback/round-trip/shm/uromd/1-host/1";
    const ALLOCATIONS: &str = "allocations/per-command/*";

    fn of<'a>(verdicts: &'a [Verdict<'a>], figures: &str) -> &'a Verdict<'a> {
        verdicts.iter().find(|verdict| verdict.row.figures == figures).unwrap()
    }

    fn round_trip(cores: Distance, value: f64) -> Figure {
        let figure = Figure::new(ROUND_TRIP, "ns", value).against("raw UCX", 10.0);
        Figure { cores: Some(cores), ..figure }
    }

    fn allocations(values: [f64; 3]) -> [Figure; 3] {
        values.map(|value| Figure::new(format!("allocations/per-command/{value}"), "", value))
    }

    #[test]
    fn a_ratio_is_held_against_budget_and_goal() {
        for (value, met, goal_met) in [(9.0, true, true), (11.0, true, false), (11.1, false, false)]
        {
            let figures = [round_trip(Distance::Far, value)];
            let verdicts = judge(&figures);
            let verdict = of(&verdicts, ROUND_TRIP);
            assert_eq!((verdict.met, verdict.goal_met), (Some(met), Some(goal_met)), "{value}");
            assert_eq!(success(&verdicts, false), met);
        }
    }

    #[test]
    fn near_and_far_launches_are_judged_apart_and_a_row_about_other_cores_is_left_out() {
        use Distance::{Far, Near};
        let verdicts = |launches: &[(Distance, f64)]| -> Vec<_> {
            let launches = launches.iter().map(|(cores, value)| vec![round_trip(*cores, *value)]);
            let figures = merge(launches.collect());
            let verdicts = judge(&figures).into_iter();
            let about = verdicts.filter(|verdict| verdict.row.figures == ROUND_TRIP);
            about.map(|verdict| (verdict.row.cores, verdict.measured)).collect()
        };
        let (near, far) = ((Some(Near), Some(1.2)), (Some(Far), Some(0.8)));
        assert_eq!(verdicts(&[(Near, 12.0)]), [near]);
        assert_eq!(verdicts(&[(Far, 8.0)]), [far]);
        assert_eq!(verdicts(&[(Near, 14.0), (Far, 8.0), (Near, 10.0)]), [near, far]);
        assert_eq!(verdicts(&[]), [(Some(Far), None)]);
    }

    #[test]
    fn a_star_stands_for_anything_where_it_stands() {
        let figure = |name: &str, value| Figure::new(name, "ns", value).against("memcpy", 10.0);
        let row = "memory/*/mapped/4096";
        let others =
            [figure("memory/read/mapped/64", 50.0), figure("memory/read/process/4096", 50.0)];
        assert_eq!(of(&judge(&others), row).measured, None);
        let two =
            [figure("memory/read/mapped/4096", 11.0), figure("memory/write/mapped/4096", 12.0)];
        assert_eq!(of(&judge(&two), row).measured, Some(1.2));
    }

    #[test]
    fn nan_is_missed_wherever_it_stands() {
        for values in [[f64::NAN, 0.0, 0.0], [0.0, f64::NAN, 0.0], [0.0, 0.0, f64::NAN]] {
            assert_eq!(
                of(&judge(&allocations(values)), ALLOCATIONS).met,
                Some(false),
                "{values:?}"
            );
        }
    }

    #[test]
    fn the_worst_of_several_figures_counts() {
        let figures = allocations([0.0, 2.0, 1.0]);
        let verdicts = judge(&figures);
        let verdict = of(&verdicts, ALLOCATIONS);
        assert_eq!((verdict.measured, verdict.met), (Some(2.0), Some(false)));
        let figures = [0.9, 0.7].map(|ratio| {
            let name = "loopback/rate/shm/uromd/1-host/64";
            Figure::new(name, "/s", ratio).against("raw UCX", 1.0)
        });
        let verdicts = judge(&figures);
        assert_eq!(of(&verdicts, &figures[0].name).met, Some(false));
    }

    #[test]
    fn times_faster_is_the_inverse_of_the_ratio() {
        let name = "peers/tonic/tcp-spinning";
        let figures = [Figure::new(name, "us", 10.0).against("tonic", 121.0)];
        let verdicts = judge(&figures);
        assert_eq!(of(&verdicts, name).measured.map(f64::round), Some(12.0));
    }

    #[test]
    fn an_unmeasured_row_fails_a_complete_run_only() {
        let verdicts = judge(&[]);
        assert!(verdicts.iter().all(|verdict| verdict.met.is_none()));
        assert!(success(&verdicts, false) && !success(&verdicts, true));
    }

    #[test]
    fn a_figure_without_a_peer_is_no_measurement_of_a_ratio() {
        let figure = Figure { peer: None, ratio: None, ..round_trip(Distance::Far, 1.0) };
        assert_eq!(of(&judge(&[figure]), ROUND_TRIP).met, None);
    }

    #[test]
    fn a_limit_keeps_itself() {
        assert!(Limit::AtMost(1.5).holds(1.5) && !Limit::AtMost(1.5).holds(1.51));
        assert!(Limit::AtLeast(0.8).holds(0.8) && !Limit::AtLeast(0.8).holds(0.79));
        assert!(!Limit::AtMost(1.5).holds(f64::NAN));
    }

    #[test]
    fn every_row_belongs_to_a_suite() {
        for row in rows() {
            let suites = ["codec", "plugin", "plugin-doca"].into_iter();
            let mut suites = suites.chain(crate::suites::SUITES.iter().map(|suite| suite.name));
            assert!(suites.any(|name| row.figures.starts_with(&format!("{name}/"))), "{row:?}");
        }
    }
}
