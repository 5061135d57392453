//! Checks that the tests that the security page names for its claims exist.

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../src/security.md");

/// Returns the test's name and its file, relative to the repository, of each row.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let table = page.split_once("\n| claim | test | in |\n").map_or("", |(_, table)| table);
    let rows = table.lines().skip(1).take_while(|line| line.starts_with('|'));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [claim, test, file] = cells[..] else { panic!("a row of three cells, not {line}") };
        assert!(!claim.is_empty(), "{line}");
        (test.trim_matches('`'), file.trim_matches('`'))
    })
    .collect()
}

fn has_test(source: &str, name: &str) -> bool {
    let head = format!("fn {name}(");
    // The faults have a table of theirs, of which a macro makes tests.
    let row = format!("{name}: \"");
    let mut attributes = Vec::new();
    for line in source.lines().map(str::trim) {
        if line.starts_with("#[") {
            attributes.push(line);
            continue;
        }
        if line.starts_with(&row) {
            return true;
        }
        let is_it = line.strip_prefix("async ").unwrap_or(line).starts_with(&head);
        if is_it {
            let is_test = attributes
                .iter()
                .any(|text| text.starts_with("#[test]") || text.contains("::test"));
            return is_test && !attributes.iter().any(|text| text.contains("ignore"));
        }
        attributes.clear();
    }
    false
}

#[test]
fn every_claim_names_a_test_that_there_is() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the guide lies in the repository");
    let rows = rows(PAGE);
    assert!(rows.len() > 25, "the table has {} rows", rows.len());
    let lacks = |(test, file): &(&str, &str)| {
        !fs::read_to_string(root.join(file)).is_ok_and(|source| has_test(&source, test))
    };
    let lacking: Vec<_> = rows.into_iter().filter(lacks).collect();
    assert!(lacking.is_empty(), "there are no such tests: {lacking:#?}");
}

#[test]
fn a_function_that_is_no_test_or_does_not_run_does_not_count() {
    let source = "#[test]\nfn one() {}\nfn two() {}\n#[test]\n#[ignore]\nfn three() {}\n#[tokio::test]\nasync fn four() {}\n";
    assert!(has_test(source, "one") && has_test(source, "four"));
    assert!(!has_test(source, "two") && !has_test(source, "three") && !has_test(source, "on"));
}
