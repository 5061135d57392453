//! Which package of a workspace is the plugin.

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId, Target};

use crate::exit::usage;

/// A plugin's package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PluginPackage {
    pub(super) id: PackageId,
    /// Its name.
    pub(super) name: String,
    /// The name of its library, with which the file's begins if it says nothing else.
    pub(super) library: String,
    /// Where cargo builds.
    pub(super) target_directory: PathBuf,
}

/// Finds the plugin around the working directory, or the manifest: the package that is named, else the one the directory lies
/// in, else the only one of the workspace.
///
/// # Errors
/// There is no such package, or more than one.
pub(super) fn find(name: Option<&str>, manifest: Option<&Path>) -> Result<PluginPackage> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(manifest) = manifest {
        command.manifest_path(manifest);
    }
    let metadata = command.exec().map_err(|error| match error {
        // As cargo says it, and without what it puts around that.
        cargo_metadata::Error::CargoMetadata { stderr } => {
            let why = stderr.trim().strip_prefix("error: ").unwrap_or(stderr.trim()).to_owned();
            anyhow!("cannot ask cargo about the workspace: {why}")
        }
        other => anyhow!(other).context("cannot ask cargo about the workspace"),
    })?;
    let place = match manifest {
        Some(manifest) => manifest.parent().unwrap_or(manifest).to_owned(),
        None => PathBuf::new(),
    };
    // An empty path is the working directory.
    let place = std::path::absolute(if place.as_os_str().is_empty() { ".".into() } else { place })?;
    let place = place.canonicalize().unwrap_or(place);
    choose(&metadata, name, &place)
}

fn choose(metadata: &Metadata, name: Option<&str>, place: &Path) -> Result<PluginPackage> {
    let packages = metadata.workspace_packages();
    if let Some(name) = name {
        let package = packages.iter().find(|package| package.name.as_str() == name);
        let package = package.ok_or_else(|| {
            let names = plugins(metadata)
                .into_iter()
                .map(|plugin| plugin.name)
                .collect::<Vec<_>>()
                .join(", ");
            let name = name.escape_debug();
            usage(format!(
                "the workspace has no package `{name}`; its plugins: {}",
                if names.is_empty() { "none" } else { &names }
            ))
        })?;
        return plugin(metadata, package)
            .map_err(|reason| usage(format!("the package `{name}` is no plugin: {reason}")));
    }
    let around = packages
        .iter()
        .filter(|package| package.manifest_path.parent().is_some_and(|dir| place.starts_with(dir)));
    let around = around.max_by_key(|package| package.manifest_path.as_str().len());
    if let Some(Ok(plugin)) = around.map(|package| plugin(metadata, package)) {
        return Ok(plugin);
    }
    let mut plugins = plugins(metadata);
    match (plugins.pop(), plugins.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => bail!(
            "no package of the workspace {} is a plugin: one has `crate-type = [\"cdylib\"]` in its [lib] and depends on \
             urom-pdk; `cargo urom new` makes one",
            metadata.workspace_root
        ),
        (Some(last), false) => {
            let mut names: Vec<_> =
                plugins.into_iter().map(|plugin| plugin.name).chain([last.name]).collect();
            names.sort();
            Err(usage(format!(
                "the workspace has several plugins: say which with -p ({})",
                names.join(", ")
            )))
        }
    }
}

fn plugins(metadata: &Metadata) -> Vec<PluginPackage> {
    metadata
        .workspace_packages()
        .into_iter()
        .filter_map(|package| plugin(metadata, package).ok())
        .collect()
}

/// The package as a plugin, or why it is none.
fn plugin(metadata: &Metadata, package: &Package) -> Result<PluginPackage, &'static str> {
    let uses_kit = |kind| {
        move |package: &Package| {
            package
                .dependencies
                .iter()
                .any(|dependency| dependency.name == "urom-pdk" && dependency.kind == kind)
        }
    };
    let library = package.targets.iter().find(|target| target.is_cdylib());
    let library: &Target = library.ok_or("its library is no `cdylib` (`crate-type` in [lib])")?;
    if !uses_kit(DependencyKind::Normal)(package) {
        return Err("it does not depend on urom-pdk");
    }
    Ok(PluginPackage {
        id: package.id.clone(),
        name: package.name.to_string(),
        library: library.name.replace('-', "_"),
        target_directory: metadata.target_directory.clone().into(),
    })
}
