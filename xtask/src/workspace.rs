//! The workspace's packages, plugins and build directory, from cargo.

use std::collections::HashMap;
use std::path::PathBuf;

use anyhow::{Context, Result};
use tinyjson::JsonValue;

use crate::shell;
use crate::target::BuildTarget;

pub(crate) struct Workspace {
    pub(crate) target_dir: PathBuf,
    pub(crate) root: PathBuf,
    packages: Vec<Package>,
}

#[derive(Clone)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) manifest_path: PathBuf,
    targets: Vec<PackageTarget>,
    pub(crate) version: String,
    pub(crate) description: Option<String>,
    pub(crate) license: Option<String>,
    pub(crate) documentation: Option<String>,
    pub(crate) readme: Option<String>,
    pub(crate) keywords: Vec<String>,
    pub(crate) categories: Vec<String>,
    /// The permitted registries; `None` permits all.
    publish: Option<Vec<String>>,
}

#[derive(Clone)]
struct PackageTarget {
    name: String,
    crate_types: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkspacePlugin<'a> {
    pub(crate) package: &'a str,
    /// The plugin's name; cargo builds `lib<name>.so`.
    pub(crate) name: &'a str,
    pub(crate) purpose: Purpose,
}

/// The purpose of a plugin; a service loads the plugins of one or more purposes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    Use,
    /// Misbehaves in a test.
    Tests,
    /// For comparison in benchmarks.
    Benches,
}

impl Purpose {
    pub(crate) const ALL: [Self; 3] = [Self::Use, Self::Tests, Self::Benches];

    /// The workspace's folder with the sources, and the build's directory with the links.
    fn folders(self) -> (&'static str, &'static str) {
        match self {
            Self::Use => ("plugins", "plugins"),
            Self::Tests => ("tests", "test-plugins"),
            Self::Benches => ("benches", "bench-plugins"),
        }
    }

    pub(crate) fn directory(self) -> &'static str {
        self.folders().1
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BuildProfile {
    Dev,
    /// For demonstrations: builds in a third of the time of [`BuildProfile::Dist`].
    Release,
    /// For installation and measurement.
    Dist,
}

impl BuildProfile {
    pub(crate) fn arguments(self) -> &'static [&'static str] {
        match self {
            Self::Dev => &[],
            Self::Release => &["--release"],
            Self::Dist => &["--profile", "dist"],
        }
    }

    pub(crate) fn directory(self) -> &'static str {
        match self {
            Self::Dev => "debug",
            Self::Release => "release",
            Self::Dist => "dist",
        }
    }
}

impl Workspace {
    pub(crate) fn load() -> Result<Self> {
        let words = shell::words("metadata --no-deps --format-version 1");
        Self::parse(&shell::read(shell::cargo().args(words))?)
    }

    fn parse(metadata: &str) -> Result<Self> {
        let metadata = metadata.parse().ok();
        let workspace = metadata.and_then(|metadata: JsonValue| {
            let path = |key| Some(PathBuf::from(text(&metadata, key)?));
            let packages = list(&metadata, "packages")?.iter().map(Package::parse);
            Some(Workspace {
                target_dir: path("target_directory")?,
                root: path("workspace_root")?,
                packages: packages.collect::<Option<_>>()?,
            })
        });
        workspace.context("cargo metadata printed something else than expected")
    }

    pub(crate) fn profile_dir(
        &self,
        target: Option<BuildTarget>,
        profile: BuildProfile,
    ) -> PathBuf {
        let mut directory = self.target_dir.clone();
        directory.extend(target.map(BuildTarget::triple));
        directory.join(profile.directory())
    }

    /// Returns the plugins: the C libraries in the folders of each [`Purpose`].
    pub(crate) fn plugins(&self) -> Vec<WorkspacePlugin<'_>> {
        self.packages.iter().filter_map(|package| self.plugin(package)).collect()
    }

    fn plugin<'a>(&self, package: &'a Package) -> Option<WorkspacePlugin<'a>> {
        let is_c = |target: &&PackageTarget| target.crate_types.iter().any(|t| t == "cdylib");
        let library = package.targets.iter().find(is_c)?;
        let inside = package.manifest_path.strip_prefix(&self.root).ok()?;
        let mut purposes = Purpose::ALL.into_iter();
        let purpose = purposes.find(|purpose| inside.starts_with(purpose.folders().0))?;
        Some(WorkspacePlugin { package: &package.name, name: &library.name, purpose })
    }

    /// Returns the packages without `publish = false`.
    pub(crate) fn published(&self) -> impl Iterator<Item = &Package> {
        let refuses = |package: &Package| package.publish.as_ref().is_some_and(Vec::is_empty);
        self.packages.iter().filter(move |package| !refuses(package))
    }

    pub(crate) fn has_package(&self, name: &str) -> bool {
        self.packages.iter().any(|package| package.name == name)
    }
}

impl Package {
    fn parse(package: &JsonValue) -> Option<Self> {
        let texts = |key| {
            let words = list(package, key)?.iter();
            words.map(|word| word.get::<String>().cloned()).collect::<Option<Vec<_>>>()
        };
        let targets = list(package, "targets")?.iter().map(|target| {
            let kinds = list(target, "crate_types")?.iter();
            Some(PackageTarget {
                name: text(target, "name")?,
                crate_types: kinds.filter_map(|kind| kind.get::<String>().cloned()).collect(),
            })
        });
        Some(Self {
            name: text(package, "name")?,
            manifest_path: text(package, "manifest_path")?.into(),
            targets: targets.collect::<Option<_>>()?,
            version: text(package, "version")?,
            description: text(package, "description"),
            license: text(package, "license"),
            documentation: text(package, "documentation"),
            readme: text(package, "readme"),
            keywords: texts("keywords")?,
            categories: texts("categories")?,
            publish: texts("publish"),
        })
    }
}

fn get<'a>(value: &'a JsonValue, key: &str) -> Option<&'a JsonValue> {
    value.get::<HashMap<String, JsonValue>>()?.get(key)
}

fn list<'a>(value: &'a JsonValue, key: &str) -> Option<&'a Vec<JsonValue>> {
    get(value, key)?.get()
}

fn text(value: &JsonValue, key: &str) -> Option<String> {
    get(value, key)?.get::<String>().cloned()
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    impl Package {
        pub(crate) fn named(name: &str) -> Package {
            let package = format!(
                r#"{{"name":"{name}","version":"0.1.0","manifest_path":"","targets":[],
                    "keywords":[],"categories":[]}}"#
            );
            Package::parse(&package.parse().expect("JSON")).expect("a package")
        }
    }

    /// Imitates the output of `cargo metadata`, including unused fields.
    pub(crate) fn sample() -> Workspace {
        let package = |name: &str, path: &str, library: &str, kind: &str| {
            let is_published = matches!(name, "urom-abi" | "libdoca");
            let publish = if is_published { "null" } else { "[]" };
            format!(
                r#"{{"name":"{name}","version":"0.1.0","manifest_path":"/w/{path}/Cargo.toml","publish":{publish},
                    "description":null,"license":"BSD-3-Clause","documentation":null,"readme":"README.md",
                    "keywords":["dpu"],"categories":[],"targets":[
                    {{"name":"{name}-tool","kind":["bin"],"crate_types":["bin"],"src_path":"/w/{path}/main.rs"}},
                    {{"name":"{library}","kind":["{kind}"],"crate_types":["{kind}"],"src_path":"/w/{path}/lib.rs"}}]}}"#
            )
        };
        let packages = [
            package("urom-abi", "urom-abi", "urom_abi", "lib"),
            package("graph-plugin", "plugins/graph-rs/plugin", "worker_graph", "cdylib"),
            package("graph-protocol", "plugins/graph-rs/protocol", "graph_protocol", "lib"),
            package("faulty-plugin", "tests/plugins/faulty", "worker_faulty", "cdylib"),
            package("bench-peer", "benches/peer", "worker_benchpeer", "cdylib"),
            package("libdoca", "libdoca/c", "urom_doca", "cdylib"),
            package("urom-tests", "tests", "urom_tests", "lib"),
        ];
        let metadata = format!(
            r#"{{"packages":[{}],"target_directory":"/w/target","workspace_root":"/w","version":1}}"#,
            packages.join(",")
        );
        Workspace::parse(&metadata).expect("the sample is well-formed")
    }

    #[test]
    fn plugins_are_the_c_libraries_in_their_folders() {
        let workspace = sample();
        let plugin = |package, name, purpose| WorkspacePlugin { package, name, purpose };
        let expected = [
            plugin("graph-plugin", "worker_graph", Purpose::Use),
            plugin("faulty-plugin", "worker_faulty", Purpose::Tests),
            plugin("bench-peer", "worker_benchpeer", Purpose::Benches),
        ];
        assert_eq!(workspace.plugins(), expected);
    }

    #[test]
    fn packages_without_publish_false_are_published() {
        let workspace = sample();
        let names = workspace.published().map(|package| &*package.name).collect::<Vec<_>>();
        assert_eq!(names, ["urom-abi", "libdoca"]);
    }
}
