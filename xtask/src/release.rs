//! The build in release mode: one for the demo, Slurm and the plugins.
//!
//! Cargo unifies the features of dependencies over the packages that are selected together. Another
//! selection has other features, and builds nearly everything again.

use std::path::PathBuf;

use anyhow::Result;

use crate::target::{self, Target};
use crate::workspace::{Plugin, Profile, Purpose, Workspace};
use crate::{plugins, shell, steps};

/// Builds, and links the plugins that are there to be used. Returns the build's directory.
pub(crate) fn build(workspace: &Workspace, target: Option<Target>) -> Result<PathBuf> {
    let all = workspace.plugins();
    let mut build = target::cargo(target, "build")?;
    shell::run(build.args(Profile::Release.arguments()).args(selection(&all, target)))?;
    let directory = workspace.profile_dir(target, Profile::Release);
    plugins::link(&directory, &all, is_used)?;
    Ok(directory)
}

fn is_used(plugin: &Plugin<'_>) -> bool {
    plugin.purpose == Purpose::Use
}

/// The service, the plugins, and on this machine the demo's programs.
fn selection<'a>(plugins: &'a [Plugin<'_>], target: Option<Target>) -> Vec<&'a str> {
    let used = plugins.iter().filter(|plugin| is_used(plugin)).map(|plugin| plugin.package);
    let packages = ["urom-service"].into_iter().chain(used).flat_map(|package| ["-p", package]);
    let programs = steps::PACKAGES.into_iter().filter(|_| target.is_none());
    packages.chain(programs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_is_shown_is_in_the_one_selection() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        let plugins = workspace.plugins();
        let words = selection(&plugins, None);
        let chosen = |package: &str| words.windows(2).any(|pair| pair == ["-p", package]);
        for package in ["urom-service", "graph-plugin", "ping-pong", "rdmo"] {
            assert!(chosen(package), "{package} is not among {words:?}");
        }
        assert!(!chosen("faulty-plugin"), "{words:?}");
        let foreign = selection(&plugins, Some(Target::Aarch64));
        assert!(words.starts_with(&foreign) && !foreign.contains(&"ping-pong"), "{foreign:?}");
    }
}
