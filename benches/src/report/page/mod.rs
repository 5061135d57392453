//! `report.html`: one page, with nothing from elsewhere and no scripts.

mod budgets;
mod curves;
mod latency;
mod plot;

use std::fmt::Write;

use super::Summary;
use super::text::{escape, quantity};
use crate::figure::Figure;

/// The page.
pub(crate) fn page(summary: &Summary) -> String {
    let mut html = String::new();
    write_page(&mut html, summary).expect("a string takes all that is written to it");
    html
}

fn write_page(html: &mut String, summary: &Summary) -> std::fmt::Result {
    let met = summary.budgets.iter().filter(|verdict| verdict.met == Some(true)).count();
    let missed = summary.budgets.iter().filter(|verdict| verdict.met == Some(false)).count();
    let open = summary.budgets.len() - met - missed;
    writeln!(
        html,
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" content=\"width=device-width\">\
         <title>Measurements of the UROM kit</title>\n<style>\n{}</style></head>\n<body>",
        include_str!("style.css")
    )?;
    writeln!(
        html,
        "<h1>Measurements of the UROM kit</h1>\n<p class=\"soft\">{}; {}</p>",
        escape(&summary.machine.line()),
        summary.took()
    )?;
    let plural = if summary.launches == 1 { "" } else { "es" };
    writeln!(
        html,
        "<p>Medians of {} launch{plural}. What is compared is measured in the same processes, round by round in alternating \
         order, pinned, both sides spinning unless said otherwise. A figure counts beside its peer only: a virtual machine's \
         cores may be near or far from each other, and change.{}</p>",
        summary.launches,
        pings(summary)
    )?;
    if summary.quick {
        writeln!(
            html,
            "<p class=\"warn\">This was a first look (<code>--quick</code>): nothing here is a figure to quote.</p>"
        )?;
    }
    for failure in summary.failures.iter().chain(&summary.too_long()) {
        writeln!(html, "<p class=\"warn\">{}</p>", escape(failure))?;
    }
    writeln!(
        html,
        "<h2>Budgets: {met} met, {missed} missed, {open} not measured</h2>\n{}",
        budgets::section(&summary.budgets)
    )?;
    section(
        html,
        "Latency",
        "How single round trips are spread. Both axes are logarithmic.",
        &latency::section(&summary.figures),
    )?;
    section(
        html,
        "Throughput over commands in flight",
        "What is ready at the same moment shares a message, so the kit gains with what is in flight.",
        &curves::throughput(&summary.figures),
    )?;
    section(
        html,
        "Sizes",
        "Messages through the sandbox plugin against raw UCX tag messages. Both axes are logarithmic.",
        &curves::sizes(&summary.figures),
    )?;
    writeln!(html, "<h2>All figures</h2>\n{}", table(&summary.figures))?;
    writeln!(html, "</body></html>")
}

fn section(html: &mut String, title: &str, about: &str, plots: &str) -> std::fmt::Result {
    if plots.is_empty() {
        return Ok(());
    }
    writeln!(
        html,
        "<h2>{title}</h2>\n<p class=\"soft\">{about}</p>\n<div class=\"plots\">\n{plots}</div>"
    )
}

/// How far the cores were from each other, launch by launch.
fn pings(summary: &Summary) -> String {
    let pings = summary.figures.iter().filter(|figure| figure.name.ends_with("/cache-line"));
    let values: Vec<f64> = pings.flat_map(|figure| figure.launches.iter().copied()).collect();
    let (Some(least), Some(most)) =
        (values.iter().copied().reduce(f64::min), values.iter().copied().reduce(f64::max))
    else {
        return String::new();
    };
    format!(
        " A cache line went from one core to the other and back in {} to {}.",
        quantity(least, "ns"),
        quantity(most, "ns")
    )
}

fn table(figures: &[Figure]) -> String {
    let mut html = String::from(
        "<div class=\"scroll\"><table><thead><tr><th>figure</th><th class=\"n\">kit</th><th class=\"n\">launches</th><th>peer</th>\
         <th class=\"n\">peer's</th><th class=\"n\">ratio</th></tr></thead>\n",
    );
    for figure in figures {
        row(&mut html, figure).expect("a string takes all that is written to it");
    }
    html.push_str("</table></div>");
    html
}

fn row(html: &mut String, figure: &Figure) -> std::fmt::Result {
    let least = figure.launches.iter().copied().reduce(f64::min);
    let most = figure.launches.iter().copied().reduce(f64::max);
    let spread = least.zip(most).filter(|(least, most)| least < most).map_or_else(
        String::new,
        |(least, most)| {
            format!("{} to {}", quantity(least, &figure.unit), quantity(most, &figure.unit))
        },
    );
    let note = figure.note.as_ref().map_or_else(String::new, |note| {
        format!("<br><span class=\"note\">{}</span>", escape(note))
    });
    let peer = figure.peer.as_ref();
    writeln!(
        html,
        "<tr><td><code>{}</code>{note}</td><td class=\"n\">{}</td><td class=\"n soft\">{spread}</td><td>{}</td>\
         <td class=\"n\">{}</td><td class=\"n\">{}</td></tr>",
        escape(&figure.name),
        quantity(figure.value, &figure.unit),
        peer.map_or_else(String::new, |peer| escape(&peer.name)),
        peer.map_or_else(String::new, |peer| quantity(peer.value, &figure.unit)),
        figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
    )
}
