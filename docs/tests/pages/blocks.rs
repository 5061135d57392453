//! Checks that every Rust block is compiled and that every block names its language.

use crate::{Page, pages};

/// The languages of blocks, and their checks.
const KINDS: &[&str] = &[
    "c",       // compiled by the tests of the C interface, or a sketch that says so
    "console", // run by cargo xtask guide on the start page
    "json", "mermaid", "rust", "sh", "text", "toml", "yaml",
];

/// The comment before a Rust block that is not compiled.
const REASON: &str = "<!-- not compiled: ";

/// Returns the line number, the info string and the preceding line of each block.
fn blocks(page: &Page) -> Vec<(usize, &str, &str)> {
    let (mut blocks, mut open, mut before) = (Vec::new(), false, "");
    for (at, line) in page.text.lines().enumerate() {
        if let Some(info) = line.trim_start().strip_prefix("```") {
            if !open {
                blocks.push((at + 1, info, before));
            }
            open = !open;
        }
        if !line.trim().is_empty() {
            before = line;
        }
    }
    assert!(!open, "{}: a block without an end", page.path.display());
    blocks
}

#[test]
fn every_page_with_rust_is_compiled() {
    for page in pages() {
        let path = format!("src/{}", page.path.display());
        let has_rust = blocks(&page).iter().any(|(_, info, _)| info.starts_with("rust"));
        let compiled = guide::PAGES.contains(&path.as_str());
        assert_eq!(
            has_rust, compiled,
            "{path}: the list of pages in docs/lib.rs is wrong about it"
        );
    }
}

#[test]
fn blocks_name_their_language_and_what_is_not_compiled_says_why() {
    for page in pages() {
        for (line, info, before) in blocks(&page) {
            let place = format!("{}:{line}: `{info}`", page.path.display());
            let mut words = info.split(',');
            let kind = words.next().unwrap_or_default();
            assert!(
                KINDS.contains(&kind),
                "{place}: a block names its language; rustdoc takes others for Rust"
            );
            if words.any(|word| word.starts_with("ignore")) {
                assert!(
                    before.starts_with(REASON),
                    "{place}: `{REASON}why -->` stands before such a block"
                );
            }
        }
    }
}

/// rustdoc takes indented blocks for Rust.
#[test]
fn no_block_is_made_by_indentation() {
    for page in pages() {
        let mut before = "";
        for (at, line) in crate::prose(&page.text) {
            let indented = line.starts_with("    ") && !line.trim().is_empty();
            assert!(
                !indented || !before.is_empty(),
                "{}:{at}: fence this block",
                page.path.display()
            );
            before = line.trim();
        }
    }
}
