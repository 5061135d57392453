//! Finds the plugin's package in a workspace.

use std::path::Path;

use anyhow::{Result, anyhow, bail};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package, PackageId};

use crate::exit::usage;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PluginPackage {
    pub(super) id: PackageId,
    pub(super) name: String,
    /// The library's name, which is also the default file name.
    pub(super) library: String,
}

/// Finds the plugin: the named package, else the directory's package, else the only plugin.
pub(super) fn find(name: Option<&str>, manifest: Option<&Path>) -> Result<PluginPackage> {
    let mut command = MetadataCommand::new();
    command.no_deps();
    if let Some(manifest) = manifest {
        command.manifest_path(manifest);
    }
    let metadata = command.exec().map_err(|error| match error {
        cargo_metadata::Error::CargoMetadata { stderr } => {
            let why = stderr.trim().strip_prefix("error: ").unwrap_or(stderr.trim()).to_owned();
            anyhow!("cannot ask cargo about the workspace: {why}")
        }
        other => anyhow!(other).context("cannot ask cargo about the workspace"),
    })?;
    let path = manifest.map_or(Path::new("."), |manifest| manifest.parent().unwrap_or(manifest));
    // A manifest without a directory is in the working directory.
    let path = std::path::absolute(Path::new(".").join(path))?;
    let path = path.canonicalize().unwrap_or(path);
    choose(&metadata, name, &path)
}

fn choose(metadata: &Metadata, name: Option<&str>, path: &Path) -> Result<PluginPackage> {
    let packages = metadata.workspace_packages();
    let plugins: Vec<_> =
        packages.iter().copied().filter_map(|package| plugin(package).ok()).collect();
    let names = || {
        let mut names: Vec<_> = plugins.iter().map(|plugin| &*plugin.name).collect();
        names.sort_unstable();
        names.join(", ")
    };
    if let Some(name) = name {
        let package = packages.iter().find(|package| package.name.as_str() == name);
        let package = package.ok_or_else(|| {
            let names = if plugins.is_empty() { "none".to_owned() } else { names() };
            let name = name.escape_debug();
            usage(format!("the workspace lacks a package `{name}`; its plugins: {names}"))
        })?;
        return plugin(package)
            .map_err(|reason| usage(format!("the package `{name}` is not a plugin: {reason}")));
    }
    let around = packages
        .iter()
        .filter(|package| package.manifest_path.parent().is_some_and(|dir| path.starts_with(dir)))
        .max_by_key(|package| package.manifest_path.as_str().len());
    if let Some(Ok(plugin)) = around.map(|package| plugin(package)) {
        return Ok(plugin);
    }
    match &plugins[..] {
        [only] => Ok(only.clone()),
        [] => bail!(
            "no package of the workspace {} is a plugin: one has `crate-type = [\"cdylib\"]` in \
             its [lib] and depends on urom-pdk; `cargo urom new` makes one",
            metadata.workspace_root
        ),
        _ => Err(usage(format!(
            "the workspace has several plugins: say which with -p ({})",
            names()
        ))),
    }
}

fn plugin(package: &Package) -> Result<PluginPackage, &'static str> {
    let library = package.targets.iter().find(|target| target.is_cdylib());
    let library = library.ok_or("its library is not a `cdylib` (`crate-type` in [lib])")?;
    let uses_kit = package.dependencies.iter().any(|dependency| {
        dependency.name == "urom-pdk" && dependency.kind == DependencyKind::Normal
    });
    if !uses_kit {
        return Err("it does not depend on urom-pdk");
    }
    Ok(PluginPackage {
        id: package.id.clone(),
        name: package.name.to_string(),
        library: library.name.replace('-', "_"),
    })
}
