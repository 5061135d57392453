//! The parameters of a search: target, environment and paths.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the name of `variable` for `target` alone.
#[must_use]
pub fn of_target(variable: &str, target: &str) -> String {
    format!("{variable}_{}", target.replace('-', "_"))
}

pub(crate) type Environment = dyn Fn(&str) -> Option<OsString>;

/// A search for one target.
pub struct Search {
    pub(crate) target: String,
    pub(crate) arch: String,
    /// Whether the target's architecture differs from the build machine's.
    pub(crate) foreign: bool,
    pub(crate) environment: Box<Environment>,
    /// Build trees lie beside and above this path.
    pub(crate) build_path: Option<PathBuf>,
    pub(crate) target_directory: Option<PathBuf>,
    pub(crate) kit: PathBuf,
    pub(crate) system: PathBuf,
}

impl Search {
    /// Creates a search with this process's environment and only the kit's build tree.
    #[must_use]
    pub fn new(target: &str) -> Self {
        Self::with(target, |name| env::var_os(name))
    }

    pub(crate) fn with(target: &str, read: impl Fn(&str) -> Option<OsString> + 'static) -> Self {
        let arch = target.split('-').next().unwrap_or_default().to_owned();
        let kit = Path::new(env!("CARGO_MANIFEST_DIR"));
        Self {
            target: target.to_owned(),
            foreign: arch != env::consts::ARCH,
            arch,
            environment: Box::new(read),
            build_path: None,
            target_directory: None,
            kit: kit.parent().unwrap_or(kit).to_owned(),
            system: "/".into(),
        }
    }

    /// Creates the search of a build script, from cargo's `TARGET` and `OUT_DIR`.
    pub(crate) fn of_build_script() -> Result<Self, String> {
        let variable = |name| {
            env::var_os(name)
                .ok_or_else(|| format!("{name} is not set: only a build script can ask for this"))
        };
        let target = variable("TARGET")?;
        let out = PathBuf::from(variable("OUT_DIR")?);
        let target = target.to_str().ok_or("TARGET is not text")?;
        let target_directory = target_directory_of(&out, target);
        Ok(Self { target_directory, build_path: Some(out), ..Self::new(target) })
    }

    /// Also searches the `ucx` directories in cargo's target directory and above it.
    #[must_use]
    pub fn target_directory(self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self { build_path: Some(directory.clone()), target_directory: Some(directory), ..self }
    }

    /// Treats an empty variable as not set.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn variable_of_target(&self, name: &str) -> Option<OsString> {
        self.names_of_target(name).iter().find_map(|name| self.variable(name))
    }

    /// The same spellings as cargo's build scripts use.
    pub(crate) fn names_of_target(&self, name: &str) -> [String; 3] {
        let target = &self.target;
        [format!("{name}_{target}"), of_target(name, target), format!("TARGET_{name}")]
    }
}

/// Parses cargo's target directory from `<it>/[triple/]profile/build/package/out`.
pub(crate) fn target_directory_of(out: &Path, target: &str) -> Option<PathBuf> {
    let directory = out.ancestors().nth(4)?;
    let directory = if directory.ends_with(target) { directory.parent()? } else { directory };
    Some(directory.to_owned())
}
