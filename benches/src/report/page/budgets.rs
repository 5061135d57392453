//! The budget table, with a bar for each row that shows how far it is from its limit and its goal.

use std::fmt::Write;

use crate::budget::{Of, Verdict};
use crate::figure::Bound;
use crate::report::table::word;
use crate::report::text::{escape, plain, quantity};

/// The table.
pub(super) fn section(verdicts: &[Verdict]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>what</th><th class=\"n\">peer</th><th class=\"n\">kit</th>\
         <th class=\"n\">measured</th><th class=\"n\">budget</th><th class=\"n\">goal</th><th></th><th>result</th></tr></thead>\n",
    );
    for verdict in verdicts {
        row(&mut html, verdict).expect("a string takes all that is written to it");
    }
    html.push_str("</table></div>\n<p class=\"soft\">A bar ends at what was measured, on a logarithmic scale; the solid mark is \
         the budget, the dashed one the goal.</p>\n");
    html
}

fn row(html: &mut String, verdict: &Verdict) -> std::fmt::Result {
    let unit = verdict.unit.as_deref().unwrap_or_default();
    let side = |value: Option<f64>| value.map_or_else(String::new, |value| quantity(value, unit));
    let limit = |limit: f64| match verdict.row.bound {
        Bound::AtMost => format!("≤ {limit}"),
        Bound::AtLeast => format!("≥ {limit}"),
    };
    let measured = match (verdict.measured, verdict.row.of) {
        (None, _) => "–".to_owned(),
        (Some(value), Of::Value) => plain(value),
        (Some(ratio), _) => {
            format!("{} ×", if ratio < 10.0 { format!("{ratio:.3}") } else { plain(ratio) })
        }
    };
    let class = match verdict.met {
        None => "open",
        Some(true) => "met",
        Some(false) => "missed",
    };
    writeln!(
        html,
        "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{measured}</td><td class=\"n\">{}</td>\
         <td class=\"n\">{}</td><td class=\"bullet\">{}</td><td class=\"{class}\">{}</td></tr>",
        escape(verdict.row.what),
        side(verdict.peer),
        side(verdict.value),
        limit(verdict.row.least),
        verdict.row.goal.map_or_else(String::new, limit),
        bullet(verdict),
        word(verdict),
    )
}

/// The bar of a row. Nothing when there is nothing to compare, as with a limit of 0.
fn bullet(verdict: &Verdict) -> String {
    const WIDTH: f64 = 180.0;
    let (Some(measured), limit) = (verdict.measured, verdict.row.least) else {
        return String::new();
    };
    if measured <= 0.0 || limit <= 0.0 {
        return String::new();
    }
    let marks = [Some(measured), Some(limit), verdict.row.goal]
        .into_iter()
        .flatten()
        .filter(|mark| *mark > 0.0);
    let (from, to) =
        marks.fold((f64::INFINITY, 0.0_f64), |(from, to), mark| (from.min(mark), to.max(mark)));
    let (from, to) = (from / 1.6, to * 1.25);
    let at = |value: f64| (value / from).ln() / (to / from).ln() * WIDTH;
    let class = if verdict.met == Some(true) { "good" } else { "bad" };
    let goal = verdict.row.goal.filter(|goal| *goal > 0.0).map_or_else(String::new, |goal| {
        format!(r#"<line class="goal" x1="{0:.1}" x2="{0:.1}" y1="3" y2="17"/>"#, at(goal))
    });
    format!(
        r#"<svg viewBox="0 0 {WIDTH} 20" aria-hidden="true"><rect class="track" y="6" width="{WIDTH}" height="8" rx="2"/><rect class="{class}" y="6" width="{:.1}" height="8" rx="2"/>{goal}<line class="limit" x1="{1:.1}" x2="{1:.1}" y1="2" y2="18"/></svg>"#,
        at(measured),
        at(limit),
    )
}
