//! Checks that the files of the page about one command have the functions that its tables list.

use std::fs;
use std::path::Path;

const PAGE: &str = include_str!("../src/command.md");

/// Returns the file, relative to the repository, and the function of each row.
fn rows(page: &str) -> Vec<(&str, &str)> {
    let mut file = "";
    let mut rows = Vec::new();
    for line in page.lines().filter(|line| line.starts_with("| ")) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [number, place, function, _] = cells[..] else { continue };
        if number.parse::<u32>().is_err() {
            continue;
        }
        if !place.is_empty() {
            file = place.trim_matches('`');
        }
        rows.push((file, function.split('`').nth(1).expect("a function in code")));
    }
    rows
}

#[test]
fn every_function_that_a_row_lists_is_in_its_file() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let rows = rows(PAGE);
    assert!(rows.len() > 20, "the tables are not read: {rows:?}");
    for (file, function) in rows {
        let source =
            fs::read_to_string(root.join(file)).unwrap_or_else(|error| panic!("{file}: {error}"));
        let name = function.rsplit("::").next().expect("it has a part");
        let is_there = [format!("fn {name}("), format!("fn {name}<")];
        assert!(is_there.iter().any(|head| source.contains(head)), "{file} lacks {function}");
    }
}
