//! The search: which places, and in what order.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::advice::NotFound;
use crate::found::{Found, Source};
use crate::unpacked::{self, Unfit, failed, look_at, look_into};
use crate::{VARIABLE, build_tree, pkg_config};

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
    /// Cargo's target directory, as far as it is known.
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

    /// Searches.
    ///
    /// # Errors
    ///
    /// When there is no UCX that will do: what was tried, and what brings one.
    pub fn find(&self) -> Result<Found, NotFound> {
        if let Err(reason) = unpacked::machine(&self.arch) {
            return Err(NotFound::new(self, vec![reason]));
        }
        let mut attempts = Vec::new();
        match self.named() {
            Ok(found) => return Ok(found),
            Err((reason, false)) => return Err(NotFound::new(self, vec![reason])),
            Err((reason, true)) => attempts.push(reason),
        }
        let others: [&dyn Fn() -> Result<Found, Unfit>; 3] =
            [&|| pkg_config::search(self), &|| self.multiarch(), &|| {
                build_tree::search(self.place.as_deref(), &self.kit, &self.arch)
            }];
        for search in others {
            match search() {
                Ok(found) => return Ok(found),
                Err(unfit) => attempts.push(unfit.reason),
            }
        }
        Err(NotFound::new(self, attempts))
    }

    /// A variable's value. An empty one counts as one that is not set.
    pub(crate) fn variable(&self, name: &str) -> Option<OsString> {
        (self.environment)(name).filter(|value| !value.is_empty())
    }

    /// The value of a variable for the target only.
    pub(crate) fn variable_of_target(&self, name: &str) -> Option<OsString> {
        self.names_of_target(name).iter().find_map(|name| self.variable(name))
    }

    /// The spellings of a variable for the target that cargo's build scripts know.
    fn names_of_target(&self, name: &str) -> [String; 3] {
        let target = &self.target;
        [format!("{name}_{target}"), of_target(name, target), format!("TARGET_{name}")]
    }

    /// The variables that may change the answer.
    pub(crate) fn variables(&self) -> Vec<String> {
        let mut names = vec![VARIABLE.to_owned(), of_target(VARIABLE, &self.target)];
        for name in pkg_config::VARIABLES {
            names.push(name.to_owned());
            names.extend(self.names_of_target(name));
        }
        names
    }

    /// The directory that the user names; or why there is none, and whether the search goes on.
    fn named(&self) -> Result<Found, (String, bool)> {
        let own = of_target(VARIABLE, &self.target);
        if let Some(root) = self.variable(&own) {
            return self.in_root(&own, &root).map_err(|unfit| (unfit.reason, false));
        }
        let Some(root) = self.variable(VARIABLE) else {
            return Err((format!("neither {own} nor {VARIABLE} is set"), true));
        };
        // On a machine that builds for itself and for others, the general variable names its own.
        self.in_root(VARIABLE, &root)
            .map_err(|unfit| (unfit.reason, unfit.is_of_other_machine && self.foreign))
    }

    fn in_root(&self, variable: &str, root: &OsString) -> Result<Found, Unfit> {
        let root = Path::new(root);
        if !root.is_absolute() {
            return Err(Unfit::from(format!(
                "{variable}={} is relative, and every build script stands in another directory: \
                 give it in full",
                root.display()
            )));
        }
        let root = fs::canonicalize(root)
            .map_err(|error| failed(&format!("{variable}: looking for"), root, &error))?;
        look_into(Source::Variable(variable.to_owned()), &root, &self.arch)
            .map_err(|unfit| Unfit { reason: format!("{variable}: {}", unfit.reason), ..unfit })
    }

    /// Debian's directories of one architecture, which linkers and loaders know.
    fn multiarch(&self) -> Result<Found, Unfit> {
        let name = format!("{}-linux-gnu", self.arch);
        let libraries = self.system.join("usr/lib").join(&name);
        let include = self.system.join("usr/include");
        let own = include.join(&name);
        let include = if own.join("ucp").is_dir() { own } else { include };
        look_at(Source::Multiarch, libraries, &include, &self.arch)
    }
}

/// Cargo's target directory, from `<it>/[triple/]profile/build/package/out`.
fn target_directory_of(out: &Path, target: &str) -> Option<PathBuf> {
    let directory = out.ancestors().nth(4)?;
    let directory = if directory.ends_with(target) { directory.parent()? } else { directory };
    Some(directory.to_owned())
}

#[cfg(test)]
#[path = "search_tests.rs"]
mod tests;
