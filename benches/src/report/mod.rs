//! The results of a run: a summary for programs, a page and a table for people.

mod plots;
mod quantity;
mod summary;
mod tables;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use pulldown_cmark::{Options, Parser, html};

use crate::budget::judge;

pub(crate) use summary::Summary;
pub(crate) use tables::budgets;

const GUIDE: &str = "../docs/src/performance.md";

fn directory() -> Result<PathBuf> {
    let profile = urom_tests::profile_directory()?;
    Ok(profile.parent().context("a profile's directory lies in the build tree")?.join("bench"))
}

pub(crate) fn write(summary: &Summary) -> Result<PathBuf> {
    let directory = directory()?;
    fs::create_dir_all(&directory)?;
    let json = serde_json::to_string_pretty(summary)? + "\n";
    fs::write(directory.join("summary.json"), json)?;
    let file = directory.join("report.html");
    fs::write(&file, page(summary)?)?;
    Ok(file)
}

/// Renders `report.html`: one self-contained page without scripts.
fn page(summary: &Summary) -> Result<String> {
    let head = include_str!("head.html").to_owned();
    let mut text = format!("# Measurements of the UROM kit\n\n{}\n\n", summary.line());
    text += "Medians of the launches. Both sides of a comparison are measured in the same \
             processes, pinned, in rounds of alternating order, and spin unless the name says \
             otherwise. Compare a figure with its peer only: the cores of a virtual machine may be \
             near or far from each other, and change.\n\n";
    if summary.quick {
        text += "**This was a first look (`--quick`): no figures to quote.**\n\n";
    }
    for reason in summary.reasons() {
        text += &format!("**{reason}**\n\n");
    }
    let verdicts = judge(&summary.figures);
    let of = |met| verdicts.iter().filter(|verdict| verdict.met == met).count();
    let (met, missed, open) = (of(Some(true)), of(Some(false)), of(None));
    text += &format!("## Budgets: {met} met, {missed} missed, {open} not measured\n\n");
    text += &budgets(summary);
    let plots = plots::all(&summary.figures)?;
    let figures = format!("## All figures\n\n{}", tables::figures(&summary.figures));
    Ok(head + &to_html(&text) + &plots + &to_html(&figures) + "</body></html>\n")
}

fn to_html(markdown: &str) -> String {
    let mut text = String::new();
    html::push_html(&mut text, Parser::new_ext(markdown, Options::ENABLE_TABLES));
    text
}

pub(crate) fn record(summary: &Summary) -> Result<()> {
    ensure!(!summary.quick, "the last run was a first look: run `cargo xtask bench` in full first");
    ensure!(
        summary.all_suites,
        "the last run was of some suites only: run `cargo xtask bench` without naming any first"
    );
    if let Some(why) = summary.too_few() {
        bail!("the last run is not to be quoted: {why}");
    }
    ensure!(summary.failures.is_empty(), "the last run failed: {}", summary.failures.join("; "));
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(GUIDE);
    fs::write(&file, filled(&fs::read_to_string(&file)?, summary)?)?;
    println!("wrote {}", file.display());
    Ok(())
}

fn filled(page: &str, summary: &Summary) -> Result<String> {
    const BEGIN: &str = "<!-- cargo xtask bench --record -->\n";
    const END: &str = "<!-- end -->";
    let missing = || format!("{GUIDE} lacks `{}` ... `{END}`", BEGIN.trim_end());
    let (before, rest) = page.split_once(BEGIN).with_context(missing)?;
    let (_, after) = rest.split_once(END).with_context(missing)?;
    let line = summary.line();
    Ok(format!("{before}{BEGIN}\n{line}.\n\n{}\n{END}{after}", budgets(summary)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache_line::Distance;
    use crate::distribution::Distribution;
    use crate::figure::Figure;

    const ROUND_TRIP: &str = "loopback/round-trip/shm/uromd/1-host/1";

    fn summary() -> Summary {
        let samples = Some(Distribution::from_iter(100..500));
        let round_trip = Figure::new(ROUND_TRIP, "ns", 200.0)
            .against("raw <UCX>", 164.0)
            .histograms(samples.clone(), samples);
        let far = Figure { cores: Some(Distance::Far), ..round_trip.clone() };
        let rate = |depth: f64| {
            let name = format!("loopback/rate/shm/uromd/1-host/{depth}");
            Figure::new(name, "/s", depth * 1e6).against("raw UCX", depth * 2e6)
        };
        Summary {
            machine: String::new(),
            quick: false,
            all_suites: true,
            launches: 5,
            seconds: 600.0,
            failures: Vec::new(),
            figures: vec![round_trip, far, rate(1.0), rate(8.0)],
        }
    }

    #[test]
    fn the_page_has_tables_and_plots_and_escapes_what_it_shows() {
        let page = page(&summary()).unwrap();
        for part in [
            "<h2>Budgets: 0 met, 2 missed, ",
            "<td style=\"text-align: right\">1.220 x</td>",
            "raw &lt;UCX&gt;",
            "<polyline",
            &format!("<code>{ROUND_TRIP}</code>"),
        ] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert_eq!(page.matches("<svg").count(), 2);
        assert!(!page.contains("<UCX>"), "{page}");
    }

    #[test]
    fn the_guide_can_be_filled_more_than_once() {
        let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(GUIDE)).unwrap();
        let once = filled(&page, &summary()).unwrap();
        assert!(once.contains(" 1.220 x |"), "{once}");
        assert_eq!(filled(&once, &summary()).unwrap(), once);
        let error = filled("nothing", &summary()).unwrap_err().to_string();
        assert!(error.contains("cargo xtask bench --record"), "{error}");
    }

    #[test]
    fn only_a_whole_run_is_recorded() {
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
