//! The texts of a workspace's files, for comparison.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use fs_err as fs;

use crate::directory::files_below;

/// Texts by relative path.
pub(super) type Tree = BTreeMap<String, String>;

const NOT_SOURCES: [&str; 3] = [".git", "Cargo.lock", "target"];

pub(super) fn read(root: &Path) -> Result<Tree> {
    let mut tree = Tree::new();
    for file in files_below(root)? {
        if !NOT_SOURCES.iter().any(|other| file.starts_with(other)) {
            let path = file.to_str().context("a path that is not UTF-8")?.to_owned();
            tree.insert(path, fs::read_to_string(root.join(file))?);
        }
    }
    Ok(tree)
}

pub(super) fn same(one: &Tree, other: &Tree) -> Result<()> {
    for path in one.keys().chain(other.keys()) {
        let (Some(a), Some(b)) = (one.get(path), other.get(path)) else {
            bail!("{path} is only in one of the two");
        };
        if a != b {
            let same = a.lines().zip(b.lines()).take_while(|(a, b)| a == b).count();
            bail!("{path} differs in line {}", same + 1);
        }
    }
    Ok(())
}

pub(super) fn without_placeholders(tree: &Tree) -> Result<()> {
    for (path, text) in tree {
        // GitHub's own placeholder.
        let text = text.replace("${{ ", "");
        let left = ["{{", "{%", "%}", ".liquid"]
            .into_iter()
            .find(|sign| path.contains(sign) || text.contains(sign));
        if let Some(sign) = left {
            bail!("{path} has a left-over `{sign}`");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(files: &[(&str, &str)]) -> Tree {
        files.iter().map(|&(path, text)| (path.to_owned(), text.to_owned())).collect()
    }

    #[test]
    fn trees_differ_by_their_files_and_by_their_lines() {
        let one = tree(&[("a", "x\ny\n"), ("b", "")]);
        same(&one, &one).expect("it is the same");
        for (other, what) in [
            (tree(&[("a", "x\nz\n"), ("b", "")]), "a differs in line 2"),
            (tree(&[("a", "x\ny\n")]), "b is only in one of the two"),
            (tree(&[("a", "x\ny\n"), ("b", ""), ("c", "")]), "c is only in one of the two"),
        ] {
            assert_eq!(same(&one, &other).expect_err(what).to_string(), what);
        }
    }

    #[test]
    fn a_placeholder_is_found_in_names_and_in_texts() {
        without_placeholders(&tree(&[("a.rs", "let x = { 1 };")])).expect("it is missing");
        for bad in [("{{plugin_name}}.h", ""), ("a", "x{{ y }}"), ("a", "{% if"), ("a.liquid", "")]
        {
            without_placeholders(&tree(&[bad])).expect_err("there is one");
        }
    }
}
