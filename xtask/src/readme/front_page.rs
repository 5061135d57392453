//! Reading the `//!` comment of a crate's root.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use fs_err as fs;
use syn::{Expr, ExprLit, Lit, Meta};

/// The text, as rustdoc takes it: without the space behind `//!`.
pub(crate) fn read(root: &Path) -> Result<String> {
    let source = fs::read_to_string(root)?;
    let page = parse(&source).with_context(|| format!("reading {}", root.display()))?;
    ensure!(!page.trim().is_empty(), "{}: no `//!` comment introduces this crate", root.display());
    Ok(page)
}

fn parse(source: &str) -> Result<String> {
    let file = syn::parse_file(source)?;
    let mut page = String::new();
    for attribute in file.attrs.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        if let Meta::NameValue(pair) = &attribute.meta
            && let Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) = &pair.value
        {
            let line = line.value();
            page.push_str(line.strip_prefix(' ').unwrap_or(&line));
            page.push('\n');
        }
    }
    Ok(page)
}

/// What stands before the first heading.
pub(crate) fn opening(page: &str) -> &str {
    let mut fenced = false;
    let mut end = 0;
    for line in page.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        if !fenced && line.starts_with("# ") {
            break;
        }
        end += line.len();
    }
    &page[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_comment_of_the_root_is_read() {
        let source = "//! One.\n//!\n//!     code\n#![cfg_attr(x, doc = \"no\")]\n/// Two.\npub struct Item;\n";
        assert_eq!(parse(source).expect("it is Rust"), "One.\n\n    code\n");
    }

    #[test]
    fn a_crate_without_a_front_page_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let path = folder.path().join("lib.rs");
        fs::write(&path, "pub struct Item;\n").expect("it can be written");
        assert!(read(&path).expect_err("no comment").to_string().contains("lib.rs"));
    }

    #[test]
    fn the_opening_ends_at_a_heading_and_not_in_code() {
        let page = "One.\n\n```\n# hidden\n```\n\n# Two\n\nThree.\n";
        assert_eq!(opening(page), "One.\n\n```\n# hidden\n```\n\n");
        assert_eq!(opening("One.\n"), "One.\n");
    }
}
