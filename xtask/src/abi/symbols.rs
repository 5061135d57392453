//! What the built library exports, against what the headers declare.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use object::{Object, ObjectSymbol};

use super::model::Interface;
use super::names::OF_PLUGINS;

/// The functions of DOCA's and of this project's names that a shared library exports.
pub(crate) fn exported(library: &Path) -> Result<BTreeSet<String>> {
    let bytes = fs::read(library).with_context(|| format!("reading {}", library.display()))?;
    let file =
        object::File::parse(&*bytes).with_context(|| format!("{} is no library", library.display()))?;
    let mut names = BTreeSet::new();
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
        let name = symbol.name().with_context(|| format!("reading the symbols of {}", library.display()))?;
        if name.starts_with("doca_") || name.starts_with("urom_") {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// What is declared and not exported, or exported and not declared. What plugins export is not the library's.
pub(crate) fn differences(declared: &Interface, exported: &BTreeSet<String>) -> Vec<String> {
    let of_plugin = |name: &str| OF_PLUGINS.iter().any(|(plugin, _)| *plugin == name);
    let declared: BTreeSet<String> =
        declared.functions.keys().filter(|name| !of_plugin(name)).cloned().collect();
    let missing = declared
        .difference(exported)
        .map(|name| format!("symbol {name}: declared, but the library lacks it"));
    let extra =
        exported.difference(&declared).map(|name| format!("symbol {name}: exported, but not declared"));
    missing.chain(extra).collect()
}
