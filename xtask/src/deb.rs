//! `cargo xtask install --deb`: an installation as a Debian package.
//!
//! This module lays out the prefix and the manual pages. cargo-deb adds the unit, its user, its
//! settings and the scripts, as `urom-service/Cargo.toml` describes.

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, ensure};
use fs_err as fs;

use crate::directory::{DirectoryWriter, TransferMode, remove_directory};
use crate::linked_ucx::{self, LinkedUcx};
use crate::target::BuildTarget;
use crate::workspace::Workspace;
use crate::{debian, install, setup, shell, tools};

/// A directory for this package alone: NVIDIA's DOCA has libraries of the same names.
const PREFIX: &str = "usr/lib/urom";

pub(crate) fn run(workspace: &Workspace, target: Option<BuildTarget>) -> Result<()> {
    debian::ensure(&[&debian::SHLIBDEPS])?;
    let cargo_deb = tools::DEB.install(workspace)?;
    setup::run(workspace, target)?;
    let ucx = LinkedUcx::find(workspace, target)?;
    ensure!(
        ucx.is_portable(),
        "a package cannot depend on {}: unset UROM_UCX_DIR to package the kit's own UCX",
        ucx.describe()
    );
    let built = install::build(workspace, target)?;
    let root = built.join("package");
    remove_directory(&root)?;
    let mut writer = DirectoryWriter::new(&root.join(PREFIX), TransferMode::Copy);
    install::lay_out_own(workspace, &built, &ucx, &mut writer)?;
    install::write_manual(&root.join("usr/share"))?;
    // dpkg-shlibdeps takes the parent of DEBIAN for a package's root. There, UCX's libraries are in no
    // other package: without the link, it takes Debian's for what the kit's UCX loads.
    fs::create_dir(root.join("DEBIAN"))?;
    symlink(Path::new(PREFIX).join(linked_ucx::IN_PREFIX).join("libucx/lib"), root.join("lib"))?;

    let mut package = Command::new(cargo_deb);
    shell::forget_package(&mut package);
    // Line tables stay: the log has the functions and lines of a panic. The warnings are for libraries
    // without dependencies, and for CUDA's, which UCX does without.
    package.args(["-p", "urom-service", "--no-build", "--no-strip", "--fast", "--quiet"]);
    package.args(target.iter().flat_map(|target| ["--target", target.triple()]));
    let file = shell::read(package.current_dir(&workspace.root))?;
    println!("install it with\n\n    apt-get install {}", file.trim());
    Ok(())
}
