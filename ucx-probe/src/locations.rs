//! The locations of a search and their order.

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use crate::advice::NotFound;
use crate::found::{Found, Source};
use crate::search::{Search, of_target};
use crate::unpacked::{self, UnfitUcx, failed, look_at, look_into};
use crate::{VARIABLE, build_tree, pkg_config};

impl Search {
    /// Returns the first UCX that fits, or an error with a reason for each location.
    pub fn find(&self) -> Result<Found, NotFound> {
        if let Err(reason) = unpacked::machine(&self.arch) {
            return Err(NotFound::new(self, vec![reason]));
        }
        let mut attempts = Vec::new();
        match self.named() {
            Ok(found) => return Ok(found),
            Err((reason, Some(variable))) => {
                return Err(NotFound::of_variable(self, &variable, reason));
            }
            Err((reason, None)) => attempts.push(reason),
        }
        let others: [&dyn Fn() -> Result<Found, UnfitUcx>; 3] =
            [&|| pkg_config::search(self), &|| self.multiarch(), &|| {
                build_tree::search(self.build_path.as_deref(), &self.kit, &self.arch)
            }];
        for search in others {
            match search() {
                Ok(found) => return Ok(found),
                Err(unfit) => attempts.push(unfit.reason),
            }
        }
        Err(NotFound::new(self, attempts))
    }

    pub(crate) fn variables(&self) -> Vec<String> {
        let mut names = vec![VARIABLE.to_owned(), of_target(VARIABLE, &self.target)];
        for name in pkg_config::VARIABLES {
            names.push(name.to_owned());
            names.extend(self.names_of_target(name));
        }
        names
    }

    /// Checks the user's directory. An error names the variable if it ends the search.
    fn named(&self) -> Result<Found, (String, Option<String>)> {
        let own = of_target(VARIABLE, &self.target);
        if let Some(root) = self.variable(&own) {
            return self.in_root(&own, &root).map_err(|unfit| (unfit.reason, Some(own)));
        }
        let Some(root) = self.variable(VARIABLE) else {
            return Err((format!("neither {own} nor {VARIABLE} is set"), None));
        };
        // On a machine that also builds for others, the general variable is for the machine itself.
        self.in_root(VARIABLE, &root).map_err(|unfit| {
            let goes_on = unfit.is_of_other_machine && self.foreign;
            (unfit.reason, (!goes_on).then(|| VARIABLE.to_owned()))
        })
    }

    fn in_root(&self, variable: &str, root: &OsString) -> Result<Found, UnfitUcx> {
        let root = Path::new(root);
        if !root.is_absolute() {
            return Err(UnfitUcx::from(format!(
                "{variable}={} is relative, and every build script stands in another directory: \
                 give it in full",
                root.display()
            )));
        }
        let root = fs::canonicalize(root)
            .map_err(|error| failed(&format!("{variable}: looking for"), root, &error))?;
        look_into(Source::Variable(variable.to_owned()), &root, &self.arch)
            .map_err(|unfit| UnfitUcx { reason: format!("{variable}: {}", unfit.reason), ..unfit })
    }

    /// Checks Debian's directories for the architecture, which linkers and loaders search.
    fn multiarch(&self) -> Result<Found, UnfitUcx> {
        let name = format!("{}-linux-gnu", self.arch);
        let libraries = self.system.join("usr/lib").join(&name);
        let include = self.system.join("usr/include");
        let own = include.join(&name);
        let include = if own.join("ucp").is_dir() { own } else { include };
        look_at(Source::Multiarch, libraries, &include, &self.arch)
    }
}

#[cfg(test)]
#[path = "locations_tests.rs"]
mod tests;
