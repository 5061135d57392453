//! `cargo xtask docs-coverage`: which public items no example shows, of the libraries that users touch.
//!
//! The rule:
//!
//! - every struct, enum, union, trait, function and macro that the crate makes public, by whatever path, has a block of
//!   Rust in its own documentation;
//! - every method of such a type or trait has one as well, or is named in a block on its type's page;
//! - what is `#[doc(hidden)]` is left out, as is what other crates define, what a trait of another crate demands, fields,
//!   variants, constants and type aliases, and the modules in [`Crate::inner`].
//!
//! rustdoc says what is public: it knows re-exports, `cfg` and what macros made. Blocks are compiled by the documentation
//! tests, so an example that is there is one that holds.

mod blocks;
mod items;

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};

use crate::shell;
use crate::workspace::Workspace;
use items::{Documentation, Item};

/// A library that users touch.
struct Crate {
    package: &'static str,
    /// What is documented besides its default.
    features: &'static [&'static str],
    /// Modules and macros that are public for the kit's other crates and for the code that macros make, and for nobody else.
    inner: &'static [&'static str],
}

const CRATES: &[Crate] = &[
    Crate { package: "ucx", features: &[], inner: &[] },
    Crate { package: "ucx-probe", features: &[], inner: &[] },
    Crate {
        package: "urom-abi",
        features: &["test-util"],
        // The border with C, what the macros' code calls, and what only services need.
        inner: &[
            "address",
            "descriptor",
            "host",
            "host_extensions",
            "host_functions",
            "list",
            "payload",
            "plugin",
            "protocol",
            "shared",
            "signals",
            "watch",
            "wire",
        ],
    },
    Crate { package: "urom-pdk-derive", features: &[], inner: &[] },
    Crate { package: "urom-pdk", features: &["test-util"], inner: &[] },
    Crate { package: "urom-host", features: &["test-util"], inner: &[] },
];

/// Prints how many items are shown, and fails with those that are not.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let rustdoc = rustdoc(workspace)?;
    let mut missing = Vec::new();
    for library in CRATES {
        let items = read(workspace, &rustdoc, library)?;
        let shown = items.iter().filter(|item| item.shown).count();
        println!("{}: {shown} of {} items are shown by an example", library.package, items.len());
        ensure!(!items.is_empty(), "{}: rustdoc lists no public item", library.package);
        missing.extend(items.into_iter().filter(|item| !item.shown));
    }
    if !missing.is_empty() {
        let lines = missing.iter().map(Item::to_string).collect::<Vec<_>>();
        bail!("{} items that no example shows:\n  {}", lines.len(), lines.join("\n  "));
    }
    Ok(())
}

/// A program that is rustdoc with its unstable formats. In cargo's own environment the variable would have build scripts
/// run again that watch it, and with them most of the workspace be built again.
fn rustdoc(workspace: &Workspace) -> Result<PathBuf> {
    let real = std::env::var("RUSTDOC").unwrap_or_else(|_| "rustdoc".to_owned());
    let path = workspace.target_dir.join("rustdoc-with-json");
    let script = format!("#!/bin/sh\nRUSTC_BOOTSTRAP=1 exec {} \"$@\"\n", shell::quote(&real));
    fs::write(&path, script)
        .and_then(|()| fs::set_permissions(&path, Permissions::from_mode(0o755)))
        .with_context(|| format!("writing {}", path.display()))?;
    Ok(path)
}

/// The items of a library that the rule is about.
fn read(workspace: &Workspace, rustdoc: &Path, library: &Crate) -> Result<Vec<Item>> {
    let mut command = shell::cargo();
    command.args(["rustdoc", "--quiet", "--lib", "-p", library.package]);
    command.args(library.features.iter().flat_map(|feature| ["--features", feature]));
    command.args(["--", "-Z", "unstable-options", "--output-format", "json"]);
    shell::run(command.env("RUSTDOC", rustdoc))?;
    let path = workspace
        .target_dir
        .join("doc")
        .join(format!("{}.json", library.package.replace('-', "_")));
    let text = fs::read(&path).with_context(|| format!("reading {}", path.display()))?;
    let documentation = Documentation::parse(&text).with_context(|| {
        format!(
            "{}: not rustdoc's JSON as xtask/src/docs_coverage/items.rs knows it",
            path.display()
        )
    })?;
    Ok(documentation.items(library.inner))
}
