//! Checks of the guide that no compiler makes: all pages are in the book, links lead to pages and
//! headings, and code that is not compiled has a reason.

mod blocks;
mod links;
mod summary;

use std::fs;
use std::path::{Path, PathBuf};

/// A page: its path relative to the book's folder, and its text.
struct Page {
    path: PathBuf,
    text: String,
}

/// The folder of the book.
fn book() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// Every Markdown file of the book, `SUMMARY.md` included.
fn pages() -> Vec<Page> {
    let mut pages = Vec::new();
    let mut folders = vec![book()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("the book's folders can be read") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                let text = fs::read_to_string(&path).expect("a page is UTF-8");
                let path = path.strip_prefix(book()).expect("it was found there").to_owned();
                pages.push(Page { path, text });
            }
        }
    }
    assert!(pages.len() > 2, "the book has pages");
    pages
}

/// The lines of `text` that are not in a block of code, with their numbers from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    text.lines().enumerate().filter_map(move |(at, line)| {
        if line.trim_start().starts_with("```") {
            code = !code;
            return None;
        }
        (!code).then_some((at + 1, line))
    })
}
