//! The library has what the headers declare, and nothing else.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use urom_tests::c::prefix;

/// The functions of the headers. Plugins' own are marked otherwise.
fn declared(include: &Path) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(include)? {
        let path = entry?.path();
        if path.extension().is_none_or(|extension| extension != "h") {
            continue;
        }
        let text = fs::read_to_string(&path)?;
        let lines = text.lines().filter(|line| !line.trim_start().starts_with('#'));
        let code = lines.collect::<Vec<_>>().join("\n");
        for mark in ["DOCA_STABLE\n", "DOCA_EXPERIMENTAL\n"] {
            for declaration in code.split(mark).skip(1) {
                let (head, _) = declaration.split_once('(').context("a function has arguments")?;
                let name = head.rsplit([' ', '*', '\n']).next().unwrap_or_default();
                names.insert(name.to_owned());
            }
        }
    }
    names.retain(|name| !name.starts_with("urom_plugin_"));
    Ok(names)
}

/// The names that the library exports.
fn exported(library: &Path) -> Result<BTreeSet<String>> {
    let output = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output()?;
    ensure!(output.status.success(), "nm: {}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    Ok(text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_owned).collect())
}

#[test]
fn every_declared_function_is_exported_and_nothing_else() -> Result<()> {
    let prefix = prefix()?;
    let declared = declared(&prefix.include())?;
    let exported = exported(&prefix.lib().join("libdoca_urom.so"))?;
    assert!(declared.len() > 100, "{declared:?}");
    assert_eq!(declared.difference(&exported).collect::<Vec<_>>(), [""; 0], "declared only");
    assert_eq!(exported.difference(&declared).collect::<Vec<_>>(), [""; 0], "exported only");
    Ok(())
}
