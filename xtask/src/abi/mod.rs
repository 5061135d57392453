//! `cargo xtask abi`: the C headers against the Rust code behind them.
//!
//! Both sides are read into one [`model`] under C's names: the headers by [`c`] with bindgen, the
//! Rust code by [`rust`] with syn and with rustc's own layouts, by the table in [`names`].
//! [`compare`] lists every difference, [`symbols`] does so for what the built libraries export, and
//! [`variadic`] for the one function that C defines.

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

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Result, bail};

use crate::shell;
use crate::workspace::{Profile, Workspace};

/// Where the headers lie in the workspace.
const HEADERS: &str = "urom-abi/include";

/// Compares, builds the libraries, and compares those.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let mut build = shell::cargo();
    build.arg("build");
    for library in symbols::LIBRARIES {
        build.args(["-p", &library.replace('_', "-")]);
    }
    shell::run(&mut build)?;
    let built = workspace.profile_dir(None, Profile::Dev);
    let mut exported = BTreeMap::new();
    for library in symbols::LIBRARIES {
        exported.insert(library, symbols::exported(&built.join(format!("{library}.so")))?);
    }
    let differences = check(&workspace.root, &workspace.root.join(HEADERS), &exported)?;
    if !differences.is_empty() {
        bail!("the C headers and the Rust code differ:\n  {}", differences.join("\n  "));
    }
    println!(
        "the C headers, the Rust code and the libraries' {} symbols are the same interface",
        exported.values().map(|symbols| symbols.len()).sum::<usize>()
    );
    Ok(())
}

/// Every difference between the headers, the Rust code below `root`, and the libraries' symbols.
fn check(root: &Path, headers: &Path, exported: &symbols::Exported) -> Result<Vec<String>> {
    let declared = c::read(headers)?;
    let (behind, mut differences) = rust::Sources::read(root)?.interface()?;
    differences.extend(compare::differences(&declared, &behind));
    differences.extend(symbols::differences(&declared, exported));
    differences.extend(variadic::difference(&root.join(variadic::SOURCE), headers)?);
    Ok(differences)
}
