//! Writes or compares the list of public items of each crate that users import.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::committed::Committed;

const CRATES: [&str; 5] = ["ucx", "urom-abi", "urom-memory", "urom-pdk", "urom-host"];

/// The path of the real rustdoc, set by [`document`].
const RUSTDOC: &str = "UROM_RUSTDOC";

/// Writes `CRATE/api.txt` for each crate; with `check`, compares instead.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    document(root)?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    let mut files = Committed::new(check);
    for name in CRATES {
        let json = target.join("doc").join(name.replace('-', "_")).with_extension("json");
        let api = public_api::Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true);
        let items: String = api.build()?.items().map(|item| format!("{item}\n")).collect();
        files.put(&root.join(name).join("api.txt"), &items)?;
    }
    files.finish("the crates' public items", "api")
}

/// Writes rustdoc's JSON of the crates. That output is unstable: cargo starts this program, which
/// permits it and runs rustdoc.
fn document(root: &Path) -> Result<()> {
    let rustdoc = std::env::var_os("RUSTDOC").unwrap_or_else(|| "rustdoc".into());
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["doc", "--quiet", "--no-deps", "--lib"]);
    cargo.args(CRATES.iter().flat_map(|name| ["--package", name]));
    cargo.env("RUSTDOC", std::env::current_exe()?).env(RUSTDOC, rustdoc);
    cargo.env("RUSTDOCFLAGS", "-Zunstable-options --output-format=json --cap-lints=allow");
    let status = cargo.status().context("starting cargo")?;
    ensure!(status.success(), "cargo doc failed: its output above says why");
    Ok(())
}

/// Runs rustdoc instead of this program, if cargo started it for that. `RUSTC_BOOTSTRAP` permits
/// unstable output in the stable compiler; set for cargo, it would compile all dependencies again.
pub(crate) fn stand_in() -> Result<()> {
    let Some(rustdoc) = std::env::var_os(RUSTDOC) else { return Ok(()) };
    let mut command = Command::new(rustdoc);
    Err(command.args(std::env::args_os().skip(1)).env("RUSTC_BOOTSTRAP", "1").exec().into())
}
