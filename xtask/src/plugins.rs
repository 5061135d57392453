//! Builds and links plugins: cargo builds `libNAME.so`, services expect `NAME.so`.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fs_err as fs;

use crate::directory::{DirectoryWriter, TransferMode};
use crate::target::{self, BuildTarget};
use crate::workspace::{BuildProfile, Purpose, Workspace, WorkspacePlugin};
use crate::{shell, steps};

/// Builds all plugins; with `release`, optimised plugins for use. Prints their directory.
pub(crate) fn run(workspace: &Workspace, target: Option<BuildTarget>, release: bool) -> Result<()> {
    let directory = match release {
        true => build_for_use(workspace, target)?,
        false => build(workspace, target, BuildProfile::Dev, &Purpose::ALL, &[], &[])?,
    };
    println!("{}", directory.join(Purpose::Use.directory()).display());
    Ok(())
}

/// The common release build for the demo, Slurm and the plugins: the service, and on this machine
/// the demo's programs. Another selection of packages would unify other features, and rebuild
/// almost everything.
pub(crate) fn build_for_use(workspace: &Workspace, target: Option<BuildTarget>) -> Result<PathBuf> {
    let mut others = vec!["urom-service"];
    if target.is_none() {
        others.extend(steps::PACKAGES);
        others.push("cargo-urom");
    }
    build(workspace, target, BuildProfile::Release, &[Purpose::Use], &others, &[])
}

/// Builds `others` with `features`, and the plugins of these purposes. Returns the build's directory.
pub(crate) fn build(
    workspace: &Workspace,
    target: Option<BuildTarget>,
    profile: BuildProfile,
    purposes: &[Purpose],
    others: &[&str],
    features: &[&str],
) -> Result<PathBuf> {
    let mut plugins = workspace.plugins();
    plugins.retain(|plugin| purposes.contains(&plugin.purpose));
    let packages = plugins.iter().map(|plugin| plugin.package).chain(others.iter().copied());
    let mut build = target::cargo(target, "build")?;
    shell::run(
        build
            .args(profile.arguments())
            .args(target::selected(packages))
            .args(features.iter().flat_map(|feature| ["--features", feature])),
    )?;
    let directory = workspace.profile_dir(target, profile);
    link(&directory, &plugins)?;
    Ok(directory)
}

/// Links plugins to the directories of their purposes. Removes other links there, but not files.
pub(crate) fn link(profile_dir: &Path, built: &[WorkspacePlugin<'_>]) -> Result<()> {
    for purpose in Purpose::ALL {
        let built = built.iter().filter(|plugin| plugin.purpose == purpose).collect::<Vec<_>>();
        if built.is_empty() {
            continue;
        }
        let directory = profile_dir.join(purpose.directory());
        let mut writer = DirectoryWriter::new(&directory, TransferMode::Link);
        for WorkspacePlugin { package, name, .. } in built {
            // Cargo's file names have `_` for `-`.
            let file = format!("lib{}.so", name.replace('-', "_"));
            let library = profile_dir.join(&file);
            ensure!(library.is_file(), "package {package} did not build {}", library.display());
            writer.symlink(Path::new("..").join(file), format!("{name}.so"))?;
        }
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let is_written = writer.written().contains(Path::new(&entry.file_name()));
            if entry.file_type()?.is_symlink() && !is_written {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    const GRAPH: WorkspacePlugin<'static> =
        WorkspacePlugin { package: "graph-plugin", name: "worker_graph", purpose: Purpose::Use };
    const PANICKING: WorkspacePlugin<'static> =
        WorkspacePlugin { package: "p", name: "worker-panics", purpose: Purpose::Tests };

    fn built(names: &[&str]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for name in names {
            fs::write(directory.path().join(name), name).expect("a file");
        }
        directory
    }

    #[test]
    fn each_plugin_gets_its_own_name_in_its_own_directory() {
        let directory = built(&["libworker_graph.so", "libworker_panics.so"]);
        let content = |path: &str| fs::read_to_string(directory.path().join(path)).ok();
        // The second run changes nothing.
        for _ in 0..2 {
            link(directory.path(), &[GRAPH, PANICKING]).expect("both are built");
            assert_eq!(content("plugins/worker_graph.so").as_deref(), Some("libworker_graph.so"));
            assert_eq!(
                content("test-plugins/worker-panics.so").as_deref(),
                Some("libworker_panics.so")
            );
            assert_eq!(content("plugins/worker-panics.so"), None);
        }
    }

    #[test]
    fn links_that_are_wrong_or_left_over_go_and_files_of_the_user_stay() {
        let directory = built(&["libworker_graph.so"]);
        let plugins = directory.path().join("plugins");
        fs::create_dir(&plugins).expect("a directory");
        symlink("../nowhere.so", plugins.join("worker_graph.so")).expect("a link");
        symlink("../libgone.so", plugins.join("gone.so")).expect("a link");
        fs::write(plugins.join("mine.so"), "mine").expect("a file");
        link(directory.path(), &[GRAPH]).expect("it is built");
        assert!(plugins.join("worker_graph.so").is_file());
        assert!(plugins.join("gone.so").symlink_metadata().is_err());
        assert!(plugins.join("mine.so").is_file());
    }

    #[test]
    fn a_build_of_one_purpose_leaves_the_links_of_others() {
        let directory = built(&["libworker_graph.so", "libworker_panics.so"]);
        link(directory.path(), &[GRAPH, PANICKING]).expect("both are built");
        link(directory.path(), &[GRAPH]).expect("one is built");
        assert!(directory.path().join("test-plugins/worker-panics.so").is_file());
    }

    #[test]
    fn a_plugin_that_was_not_built_is_named() {
        let directory = built(&[]);
        let error = link(directory.path(), &[GRAPH]).expect_err("nothing is built");
        assert!(error.to_string().contains("graph-plugin"), "{error}");
    }
}
