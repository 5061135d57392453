//! Checks that links lead to pages of the book and to headings of these pages.

use std::path::{Component, Path, PathBuf};

use crate::{book, pages, prose};

/// A link or an image, `[text](target)`.
pub(crate) struct Link<'a> {
    pub(crate) line: usize,
    pub(crate) target: &'a str,
}

/// Returns the links of a page, except those in code.
pub(crate) fn of(text: &str) -> Vec<Link<'_>> {
    let mut links = Vec::new();
    for (line, text) in prose(text) {
        let mut rest = text;
        while let Some(at) = rest.find("](") {
            rest = &rest[at + 2..];
            if let Some(end) = rest.find(')') {
                links.push(Link { line, target: &rest[..end] });
            }
        }
    }
    links
}

/// Returns the name by which mdBook and code forges link to a heading.
fn anchor(heading: &str) -> String {
    let is_kept = |c: &char| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_');
    heading.trim().chars().filter(is_kept).collect::<String>().to_lowercase().replace(' ', "-")
}

fn anchors(text: &str) -> Vec<String> {
    prose(text)
        .filter_map(|(_, line)| {
            line.trim_start_matches('#').strip_prefix(' ').filter(|_| line.starts_with('#'))
        })
        .map(anchor)
        .collect()
}

/// Returns `folder/target` without `..`.
fn joined(folder: &Path, target: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in folder.join(target).components() {
        match part {
            Component::ParentDir => assert!(path.pop(), "{target} leaves the book"),
            part => path.push(part),
        }
    }
    path
}

#[test]
fn links_lead_to_pages_and_headings_of_the_book() {
    let pages = pages();
    for page in &pages {
        for Link { line, target } in of(&page.text) {
            let place = format!("{}:{line}: `{target}`", page.path.display());
            if target.is_empty() || target.starts_with("https://") {
                continue;
            }
            let (file, heading) =
                target.split_once('#').map_or((target, None), |(file, name)| (file, Some(name)));
            let folder = page.path.parent().expect("a page lies in a folder");
            let path = if file.is_empty() { page.path.clone() } else { joined(folder, file) };
            assert!(book().join(&path).is_file(), "{place}: no such file in the book");
            if let Some(heading) = heading {
                let there = pages
                    .iter()
                    .find(|other| other.path == path)
                    .expect("headings belong to pages");
                assert!(
                    anchors(&there.text).iter().any(|name| name == heading),
                    "{place}: no such heading"
                );
            }
        }
    }
}

#[test]
fn a_heading_is_linked_to_as_forges_do() {
    assert_eq!(
        anchor("Choices where DOCA's documents are silent"),
        "choices-where-docas-documents-are-silent"
    );
    assert_eq!(anchor("`len = a.b`"), "len--ab");
    assert_eq!(anchor(" `… is lost: …` "), "-is-lost-");
    assert_eq!(
        anchors("# One\n```sh\n# no heading\n```\n## Two three\n#four"),
        ["one", "two-three"]
    );
}
