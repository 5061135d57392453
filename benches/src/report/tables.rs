//! Tables as Markdown with aligned columns, for the page, the guide and the terminal.

use super::Summary;
use super::quantity::{plain, quantity};
use crate::budget::{Limit, Of, Verdict, judge};
use crate::figure::Figure;

pub(crate) fn budgets(summary: &Summary) -> String {
    let rows = judge(&summary.figures).into_iter().map(|verdict| {
        let row = &verdict.row;
        let figure = verdict.figure;
        let peer = figure.and_then(|figure| Some((figure.peer.as_ref()?.of.value, &figure.unit)));
        [
            row.what.clone(),
            peer.map_or(String::new(), |(value, unit)| quantity(value, unit)),
            figure.map_or(String::new(), |figure| quantity(figure.kit.value, &figure.unit)),
            verdict.measured.map_or(String::new(), |measured| match row.of {
                Of::Value => plain(measured),
                Of::Ratio | Of::TimesFaster => format!("{measured:.3} x"),
            }),
            limit(row.limit),
            row.goal.map_or(String::new(), |goal| limit(row.limit.with(goal))),
            result(&verdict),
        ]
    });
    table(["what", ">peer", ">kit", ">measured", "budget", "goal", "result"], rows.collect())
}

fn limit(limit: Limit) -> String {
    match limit {
        Limit::AtMost(most) => format!("≤ {most}"),
        Limit::AtLeast(least) => format!("≥ {least}"),
    }
}

/// Relative difference between a peer's launches that its row reports.
const DIFFERS: f64 = 0.2;

fn result(verdict: &Verdict<'_>) -> String {
    let result = match (verdict.met, verdict.goal_met) {
        (None, _) => "not measured",
        (Some(false), _) => "MISSED",
        (Some(true), Some(true)) => "met, and the goal",
        (Some(true), _) => "met",
    };
    let mut text = result.to_owned();
    let Some(figure) = verdict.figure else { return text };
    if verdict.row.cores.is_some() {
        text += &format!("; {} launches", figure.kit.launches.len());
    }
    if let Some(peer) = &figure.peer
        && let Some([least, most]) = peer.of.spread()
        && most / least - 1.0 > DIFFERS
    {
        let differs = (most / least - 1.0) * 100.0;
        text += &format!("; {} differs by {differs:.0} % between launches", peer.name);
    }
    text
}

pub(super) fn figures(figures: &[Figure]) -> String {
    let rows = figures.iter().filter(|figure| figure.cores.is_none()).map(|figure| {
        let shown = |value: &f64| quantity(*value, &figure.unit);
        let spread = figure.kit.spread().map(|[least, most]| [shown(&least), shown(&most)]);
        let spread = spread.map_or(String::new(), |ends| ends.join(" to "));
        let peer = figure.peer.as_ref();
        [
            format!("`{}`", figure.name),
            shown(&figure.kit.value),
            spread,
            peer.map_or(String::new(), |peer| peer.name.replace('<', "&lt;")),
            peer.map_or(String::new(), |peer| shown(&peer.of.value)),
            figure.ratio.map_or(String::new(), |ratio| format!("{ratio:.3}")),
            figure.note.clone().unwrap_or_default(),
        ]
    });
    table(["figure", ">kit", ">launches", "peer", ">peer's", ">ratio", "note"], rows.collect())
}

/// Renders a table. A title that begins with `>` aligns its column to the right.
fn table<const N: usize>(titles: [&str; N], rows: Vec<[String; N]>) -> String {
    let right = titles.map(|title| title.starts_with('>'));
    let head = titles.map(|title| title.trim_start_matches('>').to_owned());
    let width = |at: usize| {
        let cells = rows.iter().chain([&head]).map(|row| row[at].chars().count());
        cells.max().unwrap_or_default().max(4)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let rule = std::array::from_fn(|at| {
        "-".repeat(widths[at] - usize::from(right[at])) + if right[at] { ":" } else { "" }
    });
    let mut text = String::new();
    for row in [&head, &rule].into_iter().chain(&rows) {
        for (at, cell) in row.iter().enumerate() {
            let width = widths[at];
            text +=
                &if right[at] { format!("| {cell:>width$} ") } else { format!("| {cell:width$} ") };
        }
        text += "|\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::merge;

    #[test]
    fn a_row_contains_the_difference_of_its_peer_between_launches() {
        let results = |peers: [f64; 3]| {
            let name = "loopback/rate/shm/uromd/1-host/64";
            let launch = |raw| vec![Figure::new(name, "/s", 5.0).against("raw UCX", raw)];
            let figures = merge(peers.map(launch).into());
            let verdicts = judge(&figures);
            verdicts.iter().filter_map(|v| v.measured.map(|_| result(v))).collect::<Vec<_>>()
        };
        assert_eq!(results([2.0, 2.3, 2.1]), ["met, and the goal"]);
        let differs = "met, and the goal; raw UCX differs by 50 % between launches";
        assert_eq!(results([2.0, 3.0, 2.1]), [differs]);
    }
}
