//! `cargo xtask template`: generates and checks a workspace for every combination of answers.

mod commands;
mod generate;
mod header;
mod matrix;
mod tree;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use crate::workspace::Workspace;
use crate::{debian, setup, shell, tools};
use generate::{Answers, cargo_generate};

const FOLDER: &str = "templates/plugin";

/// Tests the template; `quick` omits the variants that build the kit again.
pub(crate) fn run(workspace: &Workspace, quick: bool) -> Result<()> {
    let generator = prepare(workspace)?;
    let in_place = workspace.root.join(FOLDER);
    check_in_place(&generator, &in_place)?;
    matrix::run(workspace, &generator, quick)?;
    println!("template: ok");
    Ok(())
}

/// Renders the `.liquid` files to the workspace in place and cargo-urom's copy.
pub(crate) fn bless(workspace: &Workspace) -> Result<()> {
    let generator = prepare(workspace)?;
    let in_place = workspace.root.join(FOLDER);
    let directory = tempfile::tempdir().context("no temporary directory")?;
    header::write(workspace, &generator, directory.path(), &in_place)?;
    let made = make_in_place(&generator, directory.path(), &in_place)?;
    for (path, text) in tree::read(&made)? {
        fs::write(in_place.join(&path), text)?;
    }
    let mut carried = shell::cargo();
    carried.args(shell::words("test --quiet -p cargo-urom --bins the_tool_carries_the_template"));
    shell::step("template: the copy in cargo-urom", carried.env("UROM_BLESS", "1"))
}

fn prepare(workspace: &Workspace) -> Result<PathBuf> {
    setup::run(workspace, None)?;
    debian::ensure(&[&debian::PKG_CONFIG, &debian::OPENSSL])?;
    tools::GENERATE.install(workspace)
}

fn make_in_place(generator: &Path, scratch: &Path, in_place: &Path) -> Result<PathBuf> {
    let from = [OsStr::new("--path"), in_place.as_os_str()];
    cargo_generate(generator, scratch, from, &Answers::in_place())
}

/// Checks that the workspace in place is the rendered template, and is formatted.
fn check_in_place(generator: &Path, in_place: &Path) -> Result<()> {
    let directory = tempfile::tempdir().context("no temporary directory")?;
    let made = make_in_place(generator, directory.path(), in_place)?;
    let mut files = tree::read(in_place)?;
    files.retain(|path, _| !path.ends_with(".liquid") && path != "cargo-generate.toml");
    let what =
        format!("{FOLDER} is not what its .liquid files give: run cargo xtask template --bless");
    tree::same(&files, &tree::read(&made)?).context(what)?;
    shell::step(
        "template: format in place",
        shell::cargo().args(["fmt", "--check"]).current_dir(in_place),
    )
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::ucx;

    #[test]
    fn versions_in_the_template_are_those_of_this_workspace() {
        let root = Workspace::load().expect("cargo knows this workspace").root;
        let text = |path: &str| fs::read_to_string(root.join(path)).expect(path);
        let manifest = text("templates/plugin/Cargo.toml.liquid");
        for krate in ["ucx", "ucx-probe", "urom-abi", "urom-host", "urom-pdk"] {
            let line = format!("\n{krate} = \"{}\"\n", env!("CARGO_PKG_VERSION"));
            assert!(manifest.contains(&line), "{line}");
        }
        let own = text("Cargo.toml");
        let rust = own.lines().find(|line| line.starts_with("rust-version = "));
        let rust = rust.expect("the workspace states its oldest Rust");
        assert!(manifest.contains(rust), "{rust}");
        let ci = text("templates/plugin/.github/workflows/ci.yml.liquid");
        let tool = format!(" cargo-urom@{}\n", env!("CARGO_PKG_VERSION"));
        for version in [tool, format!(" libucx-cu12=={}\n", ucx::VERSION)] {
            assert!(ci.contains(&version), "{version}");
        }
    }
}
