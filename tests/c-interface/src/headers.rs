//! The C headers and the functions they declare.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::compiler::preprocessed;

/// Directory of the headers.
#[must_use]
pub fn include() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../urom-abi/include")
}

/// Names of the headers, sorted.
///
/// # Panics
/// If the directory cannot be read.
#[must_use]
pub fn names() -> Vec<String> {
    let entries = fs::read_dir(include()).expect("the headers");
    let name = |entry: std::io::Result<fs::DirEntry>| {
        entry.expect("a header").file_name().into_string().expect("a readable name")
    };
    let mut names: Vec<String> = entries.map(name).collect();
    names.sort_unstable();
    names
}

/// Functions that the headers declare with DOCA's or the kit's prefix, except inline functions.
#[must_use]
pub fn declared() -> BTreeSet<String> {
    let includes: String = names().iter().map(|name| format!("#include <{name}>\n")).collect();
    let text = preprocessed(&include(), &includes);
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let text = lines.collect::<Vec<_>>().join(" ");
    text.split([';', '{', '}']).filter_map(function).map(str::to_owned).collect()
}

fn function(declaration: &str) -> Option<&str> {
    let is_excluded = declaration.contains("typedef") || declaration.contains("static");
    let parts = declaration.match_indices('(').map(|(at, _)| declaration[..at].trim_end());
    let words = parts.filter_map(|before| before.rsplit([' ', '*', '\t']).next());
    let is_function = |word: &&str| {
        (word.starts_with("doca_") || word.starts_with("urom_")) && !word.ends_with("_t")
    };
    words.filter(|_| !is_excluded).find(is_function)
}
