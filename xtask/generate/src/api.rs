//! Writes or compares the list of public items of each crate that users import.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

use crate::committed::Committed;

const CRATES: [&str; 5] = ["ucx", "urom-abi", "urom-memory", "urom-pdk", "urom-host"];

/// Writes `CRATE/api.txt` for each crate; with `check`, compares instead.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let mut files = Committed::new(check);
    for name in CRATES {
        let json = documented(root, name)?;
        let api = public_api::Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true);
        let items: String = api.build()?.items().map(|item| format!("{item}\n")).collect();
        files.put(&root.join(name).join("api.txt"), &items)?;
    }
    files.finish("the crates' public items", "api")
}

/// rustdoc's JSON output is unstable; the variable permits it in the stable compiler.
fn documented(root: &Path, name: &str) -> Result<PathBuf> {
    let mut command = Command::new(env!("CARGO"));
    command.current_dir(root).env("RUSTC_BOOTSTRAP", "1");
    command.args(["rustdoc", "--quiet", "--lib", "--package", name]);
    command.args(["--", "-Zunstable-options", "--output-format=json", "--cap-lints=allow"]);
    let status = command.status().context("starting cargo")?;
    ensure!(status.success(), "cargo rustdoc failed for {name}: its output above says why");
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or(root.join("target"), PathBuf::from);
    Ok(target.join("doc").join(name.replace('-', "_")).with_extension("json"))
}
