//! `cargo xtask abi`: the C headers against the Rust code behind them.
//!
//! Both sides are read into one [`model`] under C's names: the headers by [`c`] with bindgen, the Rust code by [`rust`]
//! with syn and with rustc's own layouts, by the table in [`names`]. [`compare`] lists every difference, [`symbols`] does so
//! for what the built library exports, and [`variadic`] for the one function that C defines.

mod c;
mod compare;
mod macros;
mod model;
mod names;
mod rust;
mod symbols;
mod types;
mod variadic;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;
use crate::workspace::{Profile, Workspace};

/// The package of the library, and what cargo calls its file.
const LIBRARY: (&str, &str) = ("libdoca-urom", "libdoca_urom.so");

/// Where the headers lie in the workspace.
const HEADERS: &str = "urom-abi/include";

/// Compares, builds the library, and compares that.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    shell::run(shell::cargo().args(["build", "-p", LIBRARY.0]))?;
    let library = workspace.profile_dir(None, Profile::Dev).join(LIBRARY.1);
    let exported = symbols::exported(&library)?;
    let differences = check(&workspace.root, &workspace.root.join(HEADERS), &exported)?;
    if !differences.is_empty() {
        bail!("the C headers and the Rust code differ:\n  {}", differences.join("\n  "));
    }
    println!(
        "the C headers, the Rust code and the library's {} symbols are the same interface",
        exported.len()
    );
    Ok(())
}

/// Every difference between the headers, the Rust code below `root`, and the library's symbols.
fn check(root: &Path, headers: &Path, exported: &BTreeSet<String>) -> Result<Vec<String>> {
    let declared = c::read(headers)?;
    let (behind, mut differences) = rust::Sources::read(root)?.interface()?;
    differences.extend(compare::differences(&declared, &behind));
    differences.extend(symbols::differences(&declared, exported));
    differences.extend(variadic::difference(&root.join(variadic::SOURCE), headers)?);
    Ok(differences)
}
