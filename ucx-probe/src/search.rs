//! The search: which places, and in what order.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::advice::{NotFound, Wanted};
use crate::found::{Found, Source};
use crate::unpacked::{self, Unfit, Unpacked, failed, look_at, look_into};
use crate::variables::{Variables, of_target};
use crate::{VARIABLE, build_tree, pkg_config};

/// A search for one target.
pub struct Search {
    target: String,
    arch: String,
    /// Whether the target is another machine than the one this runs on.
    foreign: bool,
    variables: Variables,
    /// Beside and above this lie the build trees.
    place: Option<PathBuf>,
    target_directory: Option<PathBuf>,
    kit: PathBuf,
    system: PathBuf,
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
            variables: Variables::new(read),
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
        let mut search = Self::new(target);
        search.target_directory = target_directory_of(&out, target);
        search.place = Some(out);
        Ok(search)
    }

    /// Looks into the `ucx` directory in cargo's target directory too, and in those above it.
    #[must_use]
    pub fn target_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        let directory = directory.into();
        self.place = Some(directory.clone());
        self.target_directory = Some(directory);
        self
    }

    /// Searches.
    ///
    /// # Errors
    ///
    /// When there is no UCX that will do: what was tried, and what brings one.
    pub fn find(&self) -> Result<Found, NotFound> {
        let mut attempts = Vec::new();
        let wanted = Wanted {
            target: &self.target,
            arch: &self.arch,
            foreign: self.foreign,
            target_directory: self.target_directory.as_deref(),
            clone: Some(&*self.kit).filter(|kit| kit.join("xtask").is_dir()),
        };
        let not_found = |attempts| NotFound::new(&wanted, attempts);
        if let Err(reason) = unpacked::machine(&self.arch) {
            return Err(not_found(vec![reason]));
        }
        match self.named() {
            Ok(found) => return Ok(found),
            Err(Named::Unfit(reason)) => return Err(not_found(vec![reason])),
            Err(Named::Not(reason)) => attempts.push(reason),
        }
        let others: [&dyn Fn() -> Result<Found, String>; 3] = [
            &|| pkg_config::search(&self.variables, &self.target, &self.arch, self.foreign),
            &|| self.multiarch(),
            &|| build_tree::search(self.place.as_deref(), &self.kit, &self.arch),
        ];
        for search in others {
            match search() {
                Ok(found) => return Ok(found),
                Err(reason) => attempts.push(reason),
            }
        }
        Err(not_found(attempts))
    }

    /// The variables that a search has read.
    pub(crate) fn variables(&self) -> Vec<String> {
        self.variables.names()
    }

    /// The directory that the user names.
    fn named(&self) -> Result<Found, Named> {
        let own = of_target(VARIABLE, &self.target);
        if let Some(root) = self.variables.get(&own) {
            return self.in_root(&own, &root).map_err(|unfit| Named::Unfit(unfit.reason));
        }
        let Some(root) = self.variables.get(VARIABLE) else {
            return Err(Named::Not(format!("neither {own} nor {VARIABLE} is set")));
        };
        self.in_root(VARIABLE, &root).map_err(|unfit| {
            match unfit.is_of_other_machine && self.foreign {
                // On a machine that builds for itself and for others, the general variable names
                // its own.
                true => Named::Not(unfit.reason),
                false => Named::Unfit(unfit.reason),
            }
        })
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
        let unpacked = look_into(&root, &self.arch)
            .map_err(|unfit| Unfit { reason: format!("{variable}: {}", unfit.reason), ..unfit })?;
        Ok(answer(Source::Variable(variable.to_owned()), unpacked, true))
    }

    /// Debian's directories of one architecture, which linkers and loaders know.
    fn multiarch(&self) -> Result<Found, String> {
        let name = format!("{}-linux-gnu", self.arch);
        let libraries = self.system.join("usr/lib").join(&name);
        let include = self.system.join("usr/include");
        let own = include.join(&name);
        let include = if own.join("ucp").is_dir() { own } else { include };
        match look_at(libraries, &include, &self.arch) {
            Ok(unpacked) => Ok(answer(Source::Multiarch, unpacked, false)),
            Err(unfit) => Err(unfit.reason),
        }
    }
}

/// Why the variables did not answer.
enum Named {
    /// One names what does not fit.
    Unfit(String),
    /// None is meant for this target.
    Not(String),
}

fn answer(source: Source, unpacked: Unpacked, told: bool) -> Found {
    let Unpacked { version, libraries, files } = unpacked;
    Found { source, version, directory: Some(libraries), told, files }
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
