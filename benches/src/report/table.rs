//! The budget table, for a terminal.

use super::text::{plain, quantity};
use crate::budget::{Of, Verdict};
use crate::figure::Bound;

/// Prints a row for each budget.
pub(crate) fn print(verdicts: &[Verdict]) {
    println!(
        "{:<82} {:>14} {:>14} {:>10}  {:<8} {:<7}",
        "budget", "peer", "kit", "measured", "limit", "goal"
    );
    for verdict in verdicts {
        let unit = verdict.unit.as_deref().unwrap_or_default();
        let side = |value: Option<f64>| value.map_or(String::new(), |value| quantity(value, unit));
        println!(
            "{:<82} {:>14} {:>14} {:>10}  {:<8} {:<7} {}",
            verdict.row.what,
            side(verdict.peer),
            side(verdict.value),
            verdict.measured.map_or("-".to_owned(), |measured| shown(measured, verdict.row.of)),
            limit(verdict.row.bound, verdict.row.least),
            verdict.row.goal.map_or(String::new(), |goal| limit(verdict.row.bound, goal)),
            word(verdict)
        );
    }
}

/// What a row comes to, in a word or two.
pub(crate) fn word(verdict: &Verdict) -> &'static str {
    match (verdict.met, verdict.goal_met) {
        (None, _) => "not measured",
        (Some(false), _) => "MISSED",
        (Some(true), Some(true)) => "met, and the goal",
        (Some(true), _) => "met",
    }
}

/// A ratio, or a value, as a row shows it.
pub(crate) fn shown(measured: f64, of: Of) -> String {
    match of {
        Of::Value => plain(measured),
        Of::Ratio | Of::TimesFaster => format!("{measured:.3} x"),
    }
}

/// The limit of a row.
pub(crate) fn limit(bound: Bound, limit: f64) -> String {
    match bound {
        Bound::AtMost => format!("<= {limit}"),
        Bound::AtLeast => format!(">= {limit}"),
    }
}
