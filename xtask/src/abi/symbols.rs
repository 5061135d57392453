//! What the built libraries export, against what the headers declare.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result};
use fs_err as fs;
use object::{Object, ObjectSymbol};

use super::model::Interface;
use super::names::OF_PLUGINS;

/// The function by which two of the libraries find each other, and who exports it.
const PRIVATE: (&str, &str) = ("libdoca_common", urom_abi::host::join::SYMBOL);

/// The functions of DOCA's and of this project's names that a shared library exports.
pub(crate) fn exported(library: &Path) -> Result<BTreeSet<String>> {
    let bytes = fs::read(library)?;
    let file = object::File::parse(&*bytes)
        .with_context(|| format!("{} is no library", library.display()))?;
    let mut names = BTreeSet::new();
    for symbol in file.dynamic_symbols().filter(|symbol| symbol.is_definition()) {
        let name = symbol
            .name()
            .with_context(|| format!("reading the symbols of {}", library.display()))?;
        if name.starts_with("doca_") || name.starts_with("urom_") {
            names.insert(name.to_owned());
        }
    }
    Ok(names)
}

/// What each library exports.
pub(crate) type Exported = BTreeMap<&'static str, BTreeSet<String>>;

/// The libraries, as their files are called without `.so`.
pub(crate) const LIBRARIES: [&str; 3] = ["libdoca_common", "libdoca_argp", "libdoca_urom"];

/// The one of them that has a function of DOCA's or of this project's.
fn owner(name: &str) -> &'static str {
    if name.starts_with("doca_argp_") {
        "libdoca_argp"
    } else if name.starts_with("doca_urom_") || name.starts_with("urom_") {
        "libdoca_urom"
    } else {
        "libdoca_common"
    }
}

/// What is declared and not exported, exported and not declared, or exported by another library
/// than DOCA's. What plugins export is none of theirs.
pub(crate) fn differences(declared: &Interface, exported: &Exported) -> Vec<String> {
    let mut differences = Vec::new();
    let of_plugin = |name: &str| OF_PLUGINS.iter().any(|(plugin, _)| *plugin == name);
    for name in declared.functions.keys().filter(|name| !of_plugin(name)) {
        let owner = owner(name);
        if !exported.get(owner).is_some_and(|symbols| symbols.contains(name)) {
            differences.push(format!("symbol {name}: declared, but {owner} lacks it"));
        }
    }
    for (library, symbols) in exported {
        for name in symbols.iter().filter(|name| (*library, name.as_str()) != PRIVATE) {
            if !declared.functions.contains_key(name) {
                differences.push(format!("symbol {name}: exported by {library}, but not declared"));
            } else if owner(name) != *library {
                differences.push(format!(
                    "symbol {name}: exported by {library}, but {} has it",
                    owner(name)
                ));
            }
        }
    }
    differences
}
