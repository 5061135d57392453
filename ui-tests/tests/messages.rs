//! Every error message has a test case.

use std::fs;
use std::path::Path;

// The table itself: a proc-macro crate exports only macros.
#[allow(
    dead_code,
    reason = "only the table is of interest here, not the functions that fill it in"
)]
#[path = "../../urom-pdk-derive/src/diagnostics/messages.rs"]
mod messages;

fn expected_lines() -> Vec<String> {
    let mut lines = Vec::new();
    for attribute in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fail")).unwrap() {
        for case in fs::read_dir(attribute.unwrap().path()).unwrap() {
            let path = case.unwrap().path();
            if path.extension().is_some_and(|extension| extension == "stderr") {
                lines.extend(fs::read_to_string(path).unwrap().lines().map(str::to_owned));
            }
        }
    }
    lines
}

fn fixed_parts(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        parts.push(before);
        rest = behind.split_once('}').unwrap().1;
    }
    parts.push(rest);
    parts
}

fn holds(line: &str, parts: &[&str]) -> bool {
    let mut rest = line;
    parts.iter().all(|part| match rest.split_once(part) {
        Some((_, behind)) => {
            rest = behind;
            true
        }
        None => false,
    })
}

#[test]
fn every_message_has_a_case() {
    let lines = expected_lines();
    assert!(!messages::TABLE.is_empty() && !lines.is_empty());
    let missing = messages::TABLE.iter().filter(|(_, text)| {
        let parts = fixed_parts(text);
        !lines.iter().any(|line| holds(line, &parts))
    });
    let missing = missing.map(|(name, _)| name).collect::<Vec<_>>();
    assert!(missing.is_empty(), "no file of fail/ shows these messages: {missing:?}");
}
