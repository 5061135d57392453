//! Writes the figures of the last full run into the guide's page on performance, between marks that stand there.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};

use super::Summary;
use super::table::{limit, shown, word};
use super::text::quantity;
use crate::extent::LAUNCHES;
use crate::figure::Figure;

/// The page, from this package's folder.
const PAGE: &str = "../docs/src/performance.md";

/// How the names of the figures begin whose table stands between the marks of each name.
const TABLES: &[(&str, &[&str])] = &[
    ("loopback", &["loopback/round-trip", "loopback/rate"]),
    ("sandbox", &["sandbox/"]),
    ("c", &["plugin-in-c/", "host-in-c/"]),
    ("stages", &["stages/"]),
    ("codec", &["codec/", "codec-encode/", "codec-decode/", "plugin/"]),
    ("costs", &["messages/", "allocations/", "system-calls/"]),
    ("peers", &["peers/", "ucx_perftest/"]),
    ("idle", &["idle/"]),
    ("scale", &["startup/", "scale/"]),
    ("losses", &["losses/"]),
];

/// Writes it.
///
/// # Errors
/// When the run was a first look, not of all suites, of too few launches or failed in a suite, when a figure has no table or a
/// mark is missing, or the page cannot be written.
pub(crate) fn record(summary: &Summary) -> Result<()> {
    ensure!(!summary.quick, "the last run was a first look: run `cargo xtask bench` in full first");
    ensure!(
        summary.all_suites,
        "the last run was of some suites only: run `cargo xtask bench` without naming any first"
    );
    if let Some(why) = too_few(summary.launches) {
        bail!("the last run is not to be quoted: {why}");
    }
    ensure!(summary.failures.is_empty(), "the last run failed: {}", summary.failures.join("; "));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE);
    let unreadable = || file.display().to_string();
    let page = fs::read_to_string(&file).with_context(unreadable)?;
    fs::write(&file, filled(page, summary)?).with_context(unreadable)?;
    println!("wrote {}", file.display());
    Ok(())
}

/// Why so many launches are no full run, if they are none.
pub(crate) fn too_few(launches: usize) -> Option<String> {
    (launches < LAUNCHES)
        .then(|| format!("a full run takes at least {LAUNCHES} launches, not {launches}"))
}

fn filled(mut page: String, summary: &Summary) -> Result<String> {
    if let Some(lost) = summary.figures.iter().find(|figure| is_lost(&figure.name)) {
        bail!("no table of {PAGE} would show `{}`: add how its name begins to TABLES", lost.name);
    }
    fill(&mut page, "machine", &machine(summary))?;
    fill(&mut page, "budgets", &budgets(summary))?;
    TABLES
        .iter()
        .try_for_each(|(name, starts)| fill(&mut page, name, &figures(summary, starts)))?;
    Ok(page)
}

/// Whether the page would not show a figure. A cache line's pings are told with the machine.
fn is_lost(name: &str) -> bool {
    !name.ends_with("/cache-line")
        && !TABLES.iter().flat_map(|table| table.1).any(|start| name.starts_with(start))
}

/// Puts `text` between the marks of a name.
fn fill(page: &mut String, name: &str, text: &str) -> Result<()> {
    let (begin, end) = (
        format!("<!-- {name}: cargo xtask bench --record -->\n"),
        format!("<!-- end of {name} -->"),
    );
    let missing = || format!("{PAGE} has no `{}` ... `{end}`", begin.trim_end());
    let from = page.find(&begin).with_context(missing)? + begin.len();
    let to = from + page[from..].find(&end).with_context(missing)?;
    page.replace_range(from..to, &format!("\n{text}\n"));
    Ok(())
}

fn machine(summary: &Summary) -> String {
    let pings = summary.figures.iter().filter(|figure| figure.name.ends_with("/cache-line"));
    let pings: Vec<String> =
        pings.flat_map(|f| f.launches.iter().map(|ns| format!("{ns:.0}"))).collect();
    format!(
        "{}. {} launches; {}. A cache line went from one core to the other and back in, launch by launch: {} ns.\n",
        summary.machine.line(),
        summary.launches,
        summary.took(),
        pings.join(", ")
    )
}

fn budgets(summary: &Summary) -> String {
    let mut text =
        "| what | measured | budget | goal | |\n| --- | ---: | --- | --- | --- |\n".to_owned();
    for verdict in &summary.budgets {
        let row = verdict.row;
        text.push_str(&format!(
            "| {} | {} | {} | {} | {} |\n",
            row.what,
            verdict.measured.map_or_else(String::new, |measured| shown(measured, row.of)),
            limit(row.bound, row.least),
            row.goal.map_or_else(String::new, |goal| limit(row.bound, goal)),
            word(verdict)
        ));
    }
    text
}

/// A table of the figures whose names begin so. Notes follow it, each once.
fn figures(summary: &Summary, starts: &[&str]) -> String {
    let chosen: Vec<&Figure> = summary
        .figures
        .iter()
        .filter(|figure| starts.iter().any(|start| figure.name.starts_with(start)))
        .collect();
    let mut text =
        "| figure | kit | peer | | ratio |\n| --- | ---: | --- | ---: | ---: |\n".to_owned();
    let mut notes: Vec<&str> = Vec::new();
    for figure in chosen {
        let peer = figure.peer.as_ref();
        text.push_str(&format!(
            "| `{}` | {} | {} | {} | {} |\n",
            figure.name,
            quantity(figure.value, &figure.unit),
            peer.map_or("", |peer| &peer.name),
            peer.map_or_else(String::new, |peer| quantity(peer.value, &figure.unit)),
            figure.ratio.map_or_else(String::new, |ratio| format!("{ratio:.3}")),
        ));
        notes.extend(figure.note.as_deref().filter(|note| !notes.contains(note)));
    }
    for note in notes {
        text.push_str(&format!("\n- {note}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::Machine;

    fn summary() -> Summary {
        let figure = Figure::new("loopback/round-trip/shm/uromd/1-host/1", "ns", 200.0)
            .against("raw UCX", 164.0);
        Summary {
            machine: Machine::find().unwrap(),
            quick: false,
            all_suites: true,
            launches: 5,
            seconds: 600.0,
            failures: Vec::new(),
            figures: vec![figure],
            budgets: Vec::new(),
        }
        .judged()
    }

    #[test]
    fn the_guide_s_page_can_be_filled_more_than_once() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(PAGE)).unwrap();
        let once = filled(page, &summary()).unwrap();
        assert!(
            once.contains(
                "| `loopback/round-trip/shm/uromd/1-host/1` | 200 ns | raw UCX | 164 ns | 1.220 |"
            ),
            "{once}"
        );
        assert_eq!(filled(once.clone(), &summary()).unwrap(), once);
    }

    #[test]
    fn every_budget_is_about_figures_that_the_page_shows() {
        for row in crate::budget::ROWS {
            assert!(!is_lost(row.figures), "{}", row.figures);
        }
    }

    #[test]
    fn a_figure_that_no_table_shows_is_refused() {
        let figure = Figure::new("somewhere/round-trip", "ns", 200.0);
        let error =
            filled(String::new(), &Summary { figures: vec![figure], ..summary() }).unwrap_err();
        assert!(error.to_string().contains("somewhere/round-trip"), "{error}");
    }

    #[test]
    fn a_page_without_marks_is_refused() {
        let error = filled("nothing".to_owned(), &summary()).unwrap_err().to_string();
        assert!(error.contains("machine: cargo xtask bench --record"), "{error}");
    }

    #[test]
    fn what_is_not_a_whole_run_is_not_recorded() {
        let failures = vec!["suite x: it broke".to_owned()];
        for summary in [
            Summary { quick: true, ..summary() },
            Summary { all_suites: false, ..summary() },
            Summary { failures, ..summary() },
            Summary { launches: 4, ..summary() },
        ] {
            assert!(record(&summary).unwrap_err().to_string().starts_with("the last run "));
        }
    }
}
