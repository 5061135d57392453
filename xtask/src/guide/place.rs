//! The fresh directory that the start page is run in, and what is kept beside it from one run to
//! the next.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use fs_err as fs;

use crate::place::remove_directory;
use crate::workspace::Workspace;

/// Where a terminal is run.
pub(super) struct Place {
    pub(super) fresh: PathBuf,
    /// Where `cargo install` puts programs.
    pub(super) tools: PathBuf,
    /// The repository that the page clones.
    pub(super) kit: PathBuf,
    /// The build trees of the workspaces that the page makes, by their paths.
    builds: PathBuf,
    /// A UCX that is unpacked already, for the clone's set-up.
    ucx: PathBuf,
}

impl Place {
    /// Makes the fresh directory, `guide/fresh` in the build tree, in the place of that of an
    /// earlier run.
    pub(super) fn make(workspace: &Workspace) -> Result<Place> {
        let root = workspace.target_dir.join("guide");
        let place = Place {
            fresh: root.join("fresh"),
            tools: root.join("tools"),
            kit: workspace.root.clone(),
            builds: root.join("builds"),
            ucx: workspace.target_dir.join("ucx"),
        };
        // Links to build trees are removed, and what they lead to is not.
        remove_directory(&place.fresh)?;
        // A tool of an earlier run would hide that the page does not install it.
        let _ = fs::remove_dir_all(&place.tools);
        fs::create_dir_all(&place.fresh)?;
        fs::create_dir_all(&place.tools)?;
        Ok(place)
    }

    /// Gives each new workspace a build tree that is kept: its dependencies are compiled once,
    /// whatever the number of runs.
    pub(super) fn keep_builds(&self) -> Result<()> {
        for entry in fs::read_dir(&self.fresh)? {
            let workspace = entry?.path();
            let target = workspace.join("target");
            if !workspace.join("Cargo.toml").is_file() || target.symlink_metadata().is_ok() {
                continue;
            }
            let kept = self.builds.join(workspace.file_name().context("a directory has a name")?);
            fs::create_dir_all(&kept)?;
            self.keep_ucx(&kept)?;
            symlink(&kept, &target).with_context(|| format!("linking {}", target.display()))?;
        }
        Ok(())
    }

    fn keep_ucx(&self, build: &Path) -> Result<()> {
        let link = build.join("ucx");
        if self.ucx.is_dir() && link.symlink_metadata().is_err() {
            symlink(&self.ucx, &link)
                .with_context(|| format!("linking UCX into {}", build.display()))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Place {
        /// A place whose fresh directory is there already.
        pub(in crate::guide) fn for_test(directory: &Path) -> Place {
            let part = |name: &str| directory.join(name);
            let place = Place {
                fresh: part("fresh"),
                tools: part("tools"),
                kit: part("kit"),
                builds: part("builds"),
                ucx: part("ucx"),
            };
            fs::create_dir_all(&place.fresh).expect("a directory");
            place
        }
    }

    #[test]
    fn a_new_workspace_builds_where_the_last_one_of_its_name_did() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let place = Place::for_test(directory.path());
        let workspace = place.fresh.join("calc");
        for built in [None, Some("file")] {
            fs::create_dir_all(&workspace).expect("a directory");
            fs::write(workspace.join("Cargo.toml"), "").expect("a file");
            fs::create_dir_all(place.fresh.join("no-workspace")).expect("a directory");
            place.keep_builds().expect("it can be linked");
            place.keep_builds().expect("it is there already");
            assert_eq!(workspace.join("target/file").exists(), built.is_some());
            fs::write(workspace.join("target/file"), "").expect("a file");
            assert!(!place.fresh.join("no-workspace/target").exists());
            fs::remove_dir_all(&workspace).expect("only the link goes");
        }
    }
}
