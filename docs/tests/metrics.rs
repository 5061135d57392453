//! The metrics of the service, their page and the dashboard have the same names.

use std::collections::BTreeSet;

const SOURCE: &str = include_str!("../../urom-service/src/daemon/program/exposition.rs");
const PAGE: &str = include_str!("../src/metrics.md");
const DASHBOARD: &str = include_str!("../../deploy/grafana/urom.json");

/// Returns the words that begin with `urom_`, without the suffixes of a histogram's series.
fn names(text: &str) -> BTreeSet<&str> {
    let is_part = |letter: char| letter.is_ascii_lowercase() || letter == '_';
    let words = text
        .match_indices("urom_")
        .filter(|(at, _)| !text[..*at].ends_with(|before: char| is_part(before) || before == '-'));
    let words = words.map(|(at, _)| text[at..].split(|letter| !is_part(letter)).next());
    words.flatten().map(|word| word.trim_end_matches("_bucket")).collect()
}

#[test]
fn the_page_on_metrics_has_every_metric_and_no_other() {
    let mut served = names(SOURCE);
    // Crates of the workspace.
    served.retain(|name| !["urom_abi", "urom_wire"].contains(name));
    assert_eq!(served, names(PAGE));
    assert!(served.len() > 20, "{served:?}");
}

#[test]
fn the_dashboard_shows_every_metric_and_no_other() {
    let shown = names(DASHBOARD);
    assert_eq!(shown, names(PAGE));
    serde_json::from_str::<serde_json::Value>(DASHBOARD).expect("it is JSON");
}
