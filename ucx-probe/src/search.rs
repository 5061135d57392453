//! What a search is about: its target, the environment, and where it looks.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The name of `variable` that holds for `target` only.
#[must_use]
pub fn of_target(variable: &str, target: &str) -> String {
    format!("{variable}_{}", target.replace('-', "_"))
}

pub(crate) type Environment = dyn Fn(&str) -> Option<OsString>;

/// A search for one target.
pub struct Search {
    pub(crate) target: String,
    pub(crate) arch: String,
    /// Whether the target is another machine than the one this runs on.
    pub(crate) foreign: bool,
    pub(crate) environment: Box<Environment>,
    /// Beside and above this lie the build trees.
    pub(crate) place: Option<PathBuf>,
    /// Cargo's target directory, if it is known.
    pub(crate) target_directory: Option<PathBuf>,
    /// The clone of the kit, where there is one.
    pub(crate) kit: PathBuf,
    pub(crate) system: PathBuf,
}

impl Search {
    /// A search in the environment of this process, and in no build tree but the kit's own.
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
            place: None,
            target_directory: None,
            kit: kit.parent().unwrap_or(kit).to_owned(),
            system: "/".into(),
        }
    }

    /// The search of a build script: for the target that cargo names, from the directory that cargo
    /// gave it.
    pub(crate) fn of_build_script() -> Result<Self, String> {
        let variable = |name| {
            env::var_os(name)
                .ok_or_else(|| format!("{name} is not set: only a build script can ask for this"))
        };
        let target = variable("TARGET")?;
        let out = PathBuf::from(variable("OUT_DIR")?);
        let target = target.to_str().ok_or("TARGET is not text")?;
        let target_directory = target_directory_of(&out, target);
        Ok(Self { target_directory, place: Some(out), ..Self::new(target) })
    }

    /// Looks into the `ucx` directory in cargo's target directory too, and in those above it.
    #[must_use]
    pub fn target_directory(self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        Self { place: Some(directory.clone()), target_directory: Some(directory), ..self }
    }

    /// A variable's value. An empty one counts as one that is not set.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    pub(crate) fn variable_of_target(&self, name: &str) -> Option<OsString> {
        self.names_of_target(name).iter().find_map(|name| self.variable(name))
    }

    /// The spellings of a variable for the target that cargo's build scripts know.
    pub(crate) fn names_of_target(&self, name: &str) -> [String; 3] {
        let target = &self.target;
        [format!("{name}_{target}"), of_target(name, target), format!("TARGET_{name}")]
    }
}

/// Cargo's target directory, from `<it>/[triple/]profile/build/package/out`.
pub(crate) fn target_directory_of(out: &Path, target: &str) -> Option<PathBuf> {
    let directory = out.ancestors().nth(4)?;
    let directory = if directory.ends_with(target) { directory.parent()? } else { directory };
    Some(directory.to_owned())
}
