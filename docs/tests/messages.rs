//! Checks that the code has the messages that the troubleshooting page explains.

use std::fs;
use std::path::{Path, PathBuf};

const PAGE: &str = include_str!("../src/troubleshooting.md");

/// The largest distance between two parts of one message in a source, in bytes.
const NEAR: usize = 600;

/// Returns the sources of the crates that users run: `src` and build scripts, without tests.
fn sources() -> Vec<String> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the guide lies in the repository");
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut texts = Vec::new();
    let crates =
        [root, &root.join("libdoca")].map(|folder| fs::read_dir(folder).expect("it can be read"));
    for entry in crates.into_iter().flatten().map_while(Result::ok) {
        folders.push(entry.path().join("src"));
        texts.extend(fs::read_to_string(entry.path().join("build.rs")));
    }
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().map_while(Result::ok) {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                texts.push(fs::read_to_string(&path).expect("a source is UTF-8"));
            }
        }
    }
    texts.iter().map(|text| joined(text)).collect()
}

/// Returns a source without its tests, with string literals joined over line ends.
fn joined(source: &str) -> String {
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or(source);
    let mut text = String::new();
    let mut rest = code;
    while let Some(at) = rest.find("\\\n") {
        text.push_str(&rest[..at]);
        rest = rest[at + 2..].trim_start();
    }
    text.push_str(rest);
    text.replace("\\\"", "\"")
}

/// Returns the messages of a page: its headings of the third level, in code.
fn messages(page: &str) -> impl Iterator<Item = &str> {
    page.lines().filter_map(|line| line.strip_prefix("### `")?.strip_suffix('`'))
}

/// Returns the fixed parts of a message.
fn parts(message: &str) -> Vec<&str> {
    message.split('…').map(str::trim).filter(|part| part.chars().any(char::is_alphabetic)).collect()
}

/// Returns whether `source` has the parts in this order, near each other.
fn has(source: &str, parts: &[&str]) -> bool {
    let Some((first, rest)) = parts.split_first() else { return true };
    source.match_indices(first).any(|(at, _)| {
        let after = &source[at + first.len()..];
        let end =
            (0..=NEAR.min(after.len())).rev().find(|end| after.is_char_boundary(*end)).unwrap_or(0);
        has(&after[..end], rest)
    })
}

#[test]
fn every_message_that_is_explained_is_in_the_code() {
    let sources = sources();
    let mut count = 0;
    let mut gone = Vec::new();
    for message in messages(PAGE) {
        count += 1;
        let parts = parts(message);
        assert!(!parts.is_empty(), "`{message}` lacks text");
        if !sources.iter().any(|source| has(source, &parts)) {
            gone.push(message);
        }
    }
    assert!(count > 20, "the page explains {count} messages");
    assert!(gone.is_empty(), "no code has these messages any more:\n  {}", gone.join("\n  "));
}

#[test]
fn every_heading_of_the_third_level_is_a_message() {
    let headings = PAGE.lines().filter(|line| line.starts_with("### ")).count();
    assert_eq!(headings, messages(PAGE).count());
}

#[test]
fn a_message_is_found_over_line_ends_and_values_and_not_in_tests() {
    let source = "f(\"no `{name}` there: \\\n     start it\")\n#[cfg(test)]\nmod tests {\n    // other text\n}";
    let source = joined(source);
    assert!(has(&source, &parts("no `…` there: start it")));
    assert!(has(&source, &parts("… there: …")));
    assert!(!has(&source, &parts("there … no")) && !has(&source, &parts("other text")));
    let far = format!("one {} two", "x".repeat(NEAR + 1));
    assert!(!has(&far, &["one", "two"]));
}
