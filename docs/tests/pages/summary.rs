//! `SUMMARY.md` names every page, once.

use std::collections::BTreeMap;

use crate::{links, pages};

#[test]
fn every_page_is_in_the_summary_once() {
    let pages = pages();
    let summary = pages
        .iter()
        .find(|page| page.path.as_os_str() == "SUMMARY.md")
        .expect("the book has a summary");
    let mut named = BTreeMap::new();
    // A link without a target is a heading over other pages.
    for link in links::of(&summary.text).iter().filter(|link| !link.target.is_empty()) {
        *named.entry(link.target.to_owned()).or_insert(0) += 1;
    }
    for page in pages.iter().filter(|page| page.path.as_os_str() != "SUMMARY.md") {
        let times = named.remove(&page.path.display().to_string()).unwrap_or(0);
        assert_eq!(times, 1, "{} is {times} times in SUMMARY.md", page.path.display());
    }
    assert!(named.is_empty(), "SUMMARY.md names pages that are not there: {named:?}");
}
