//! Building plugins and giving them the names a service looks for: cargo builds `libNAME.so`, a
//! plugin is `NAME.so`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use fs_err as fs;

use crate::target::{self, Target};
use crate::workspace::{Plugin, Profile, Purpose, Workspace};
use crate::{release, shell};

pub(crate) fn build(workspace: &Workspace, target: Option<Target>, release: bool) -> Result<()> {
    let directory = match release {
        true => release::build(workspace, target)?,
        false => build_all(workspace, target)?,
    };
    println!("{}", directory.join(Purpose::Use.directory()).display());
    Ok(())
}

/// Builds the plugins of every purpose, without optimisations.
fn build_all(workspace: &Workspace, target: Option<Target>) -> Result<PathBuf> {
    let plugins = workspace.plugins();
    let mut command = target::cargo(target, "build")?;
    command.args(plugins.iter().flat_map(|plugin| ["-p", plugin.package]));
    shell::run(&mut command)?;
    let directory = workspace.profile_dir(target, Profile::Dev);
    link(&directory, &plugins, |_| true)?;
    Ok(directory)
}

/// Links those of the workspace's `plugins` that were `built` into `profile_dir`, each into the
/// directory of its purpose, and removes links to plugins that no longer exist.
pub(crate) fn link(
    profile_dir: &Path,
    plugins: &[Plugin<'_>],
    built: impl Fn(&Plugin<'_>) -> bool,
) -> Result<()> {
    for purpose in Purpose::ALL {
        let directory = profile_dir.join(purpose.directory());
        fs::create_dir_all(&directory)?;
        let mut names = HashSet::new();
        for plugin in plugins.iter().filter(|plugin| plugin.purpose == purpose) {
            let name = format!("{}.so", plugin.name);
            if built(plugin) {
                // Cargo names files after the crate, which has no hyphens.
                let file = format!("lib{}.so", plugin.name.replace('-', "_"));
                let built = profile_dir.join(&file);
                let package = plugin.package;
                ensure!(built.is_file(), "package {package} did not build {}", built.display());
                place(&directory.join(&name), &Path::new("..").join(file))?;
            }
            names.insert(OsString::from(name));
        }
        remove_others(&directory, &names)?;
    }
    Ok(())
}

/// Makes `link` a symbolic link to `to`. One that is right is left alone; a service may be reading
/// it now.
fn place(link: &PathBuf, to: &Path) -> Result<()> {
    if fs::read_link(link).is_ok_and(|current| current == to) {
        return Ok(());
    }
    if link.symlink_metadata().is_ok() {
        fs::remove_file(link)?;
    }
    symlink(to, link)
        .with_context(|| format!("could not link {} to {}", link.display(), to.display()))
}

fn remove_others(directory: &Path, names: &HashSet<OsString>) -> Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_type()?.is_symlink() && !names.contains(&entry.file_name()) {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRAPH: Plugin<'static> =
        Plugin { package: "graph-plugin", name: "worker_graph", purpose: Purpose::Use };
    const PANICKING: Plugin<'static> =
        Plugin { package: "p", name: "worker-panics", purpose: Purpose::Tests };

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
        // The second time everything is in place.
        for _ in 0..2 {
            link(directory.path(), &[GRAPH, PANICKING], |_| true).expect("both are built");
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
        link(directory.path(), &[GRAPH], |_| true).expect("it is built");
        assert!(plugins.join("worker_graph.so").is_file());
        assert!(plugins.join("gone.so").symlink_metadata().is_err());
        assert!(plugins.join("mine.so").is_file());
    }

    #[test]
    fn a_plugin_that_is_not_built_this_time_keeps_its_link() {
        let directory = built(&["libworker_graph.so", "libworker_panics.so"]);
        let both = [GRAPH, PANICKING];
        link(directory.path(), &both, |_| true).expect("both are built");
        link(directory.path(), &both, |plugin| plugin.purpose == Purpose::Use)
            .expect("one is built");
        assert!(directory.path().join("test-plugins/worker-panics.so").is_file());
    }

    #[test]
    fn a_plugin_that_was_not_built_is_named() {
        let directory = built(&[]);
        let error = link(directory.path(), &[GRAPH], |_| true).expect_err("nothing is built");
        assert!(error.to_string().contains("graph-plugin"), "{error}");
    }
}
