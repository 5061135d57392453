//! The default library: selected by the environment, or built in.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use urom_abi::DocaError;

use super::{Library, load};
use crate::error::{Error, Result};

const VARIABLE: &str = "UROM_DOCA_LIBRARY";
const BUILTIN: &str = "builtin";
/// Names DOCA's service; if set, DOCA's own library is used.
pub(crate) const SERVICE_FILE: &str = "DOCA_UROM_SERVICE_FILE";

/// DOCA's paths on Debian and Ubuntu, and with `lib64`. Development packages have the second name.
fn installed() -> Vec<PathBuf> {
    let debian = format!("lib/{}-linux-gnu", env::consts::ARCH);
    let files = |directory: &str| {
        let directory = PathBuf::from("/opt/mellanox/doca").join(directory);
        ["libdoca_urom.so.2", "libdoca_urom.so"].map(|name| directory.join(name))
    };
    [files(&debian), files("lib64")].concat()
}

/// With `extensions`, only this project's library qualifies.
pub(crate) fn find(extensions: bool) -> Result<Library> {
    let surroundings = Surroundings {
        variable: env::var_os(VARIABLE).filter(|value| !value.is_empty()),
        service_file: env::var_os(SERVICE_FILE).is_some_and(|value| !value.is_empty()),
        installed: installed(),
        builtin: cfg!(feature = "builtin"),
    };
    match surroundings.choose(extensions)? {
        #[cfg(feature = "builtin")]
        None => Ok(Library::builtin()),
        #[cfg(not(feature = "builtin"))]
        None => Err(surroundings.nothing(extensions)),
        // SAFETY: whoever set the environment vouches for the file, as for `LD_LIBRARY_PATH`.
        Some((path, origin)) => unsafe { load::load(&path, Some(&origin)) },
    }
}

#[derive(Debug, Clone)]
struct Surroundings {
    variable: Option<OsString>,
    service_file: bool,
    installed: Vec<PathBuf>,
    builtin: bool,
}

impl Surroundings {
    /// A file and the setting that names it; `None` for the built-in library.
    fn choose(&self, extensions: bool) -> Result<Option<(PathBuf, String)>> {
        match &self.variable {
            Some(value) if value != BUILTIN => {
                return Ok(Some((value.into(), VARIABLE.to_owned())));
            }
            Some(_) if self.builtin => return Ok(None),
            Some(_) => {
                let what = format!("using {VARIABLE}={BUILTIN}");
                return Err(Error::new(DocaError::NOT_SUPPORTED, what)
                    .why("this program was built without a library of its own")
                    .hint(
                        "name a file there, or build it with the feature `builtin` of urom-host",
                    ));
            }
            None => {}
        }
        match self.installed.iter().find(|path| path.exists()) {
            Some(path) if self.service_file && !extensions => {
                let instead = match self.builtin {
                    true => "; UROM_DOCA_LIBRARY=builtin takes the built-in one",
                    false => "",
                };
                let origin =
                    format!("DOCA's installation directory, as {SERVICE_FILE} is set{instead}");
                Ok(Some((path.clone(), origin)))
            }
            _ if self.builtin => Ok(None),
            _ => Err(self.nothing(extensions)),
        }
    }

    fn nothing(&self, extensions: bool) -> Error {
        let paths: Vec<_> = self.installed.iter().map(|path| path.display().to_string()).collect();
        let installed = match (extensions, self.service_file) {
            (true, _) => {
                "the address or embedded service that was asked for is beyond DOCA's own".to_owned()
            }
            (false, true) => format!("{} does not exist", paths.join(", no ")),
            (false, false) => {
                format!(
                    "{SERVICE_FILE} is not set, so DOCA's installation directory was not searched"
                )
            }
        };
        let whose = if extensions { " of this kit" } else { "" };
        Error::new(DocaError::NOT_FOUND, "finding a libdoca_urom.so")
            .why(format!(
                "{VARIABLE} is not set; {installed}; this program was built without a library of \
                 its own"
            ))
            .hint(format!(
                "set {VARIABLE} to the path of a libdoca_urom.so{whose}, or build the program with \
                 the feature `builtin` of urom-host"
            ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    const HERE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
    const MISSING: &str = "/nonexistent/libdoca_urom.so";

    fn host(installed: &[&str]) -> Surroundings {
        let installed = installed.iter().map(PathBuf::from).collect();
        Surroundings { variable: None, service_file: true, installed, builtin: true }
    }

    #[test]
    fn the_variable_comes_first_whatever_is_needed() {
        for extensions in [false, true] {
            let named = Surroundings { variable: Some("/a/b.so".into()), ..host(&[HERE]) };
            let file = ("/a/b.so".into(), "UROM_DOCA_LIBRARY".to_owned());
            assert_eq!(named.choose(extensions).unwrap(), Some(file));
            let builtin = Surroundings { variable: Some("builtin".into()), ..host(&[HERE]) };
            assert_eq!(builtin.choose(extensions).unwrap(), None);
        }
    }

    #[test]
    fn docas_install_place_is_next_with_a_service_file_else_it_is_the_built_in_one() {
        let (path, origin) = host(&[MISSING, HERE]).choose(false).unwrap().unwrap();
        assert_eq!(path, Path::new(HERE));
        for part in ["DOCA_UROM_SERVICE_FILE", "UROM_DOCA_LIBRARY=builtin"] {
            assert!(origin.contains(part), "{origin}");
        }
        let without = Surroundings { builtin: false, ..host(&[HERE]) };
        assert_eq!(without.choose(false).unwrap().unwrap().0, Path::new(HERE));
        let no_service = Surroundings { service_file: false, ..host(&[HERE]) };
        assert_eq!(no_service.choose(false).unwrap(), None);
        assert_eq!(host(&[MISSING]).choose(false).unwrap(), None);
        assert_eq!(host(&[HERE]).choose(true).unwrap(), None, "DOCA's cannot do that");
    }

    #[test]
    fn a_program_without_one_that_finds_none_is_told_what_was_tried() {
        let without = |service_file, installed| Surroundings {
            builtin: false,
            service_file,
            ..host(installed)
        };
        for (surroundings, extensions, part) in [
            (without(true, &[MISSING]), false, "/nonexistent/libdoca_urom.so does not exist"),
            (without(false, &[HERE]), false, "DOCA_UROM_SERVICE_FILE is not set"),
            (without(true, &[HERE]), true, "beyond DOCA's own"),
            (without(true, &[HERE]), true, "a libdoca_urom.so of this kit,"),
        ] {
            let error = surroundings.choose(extensions).unwrap_err();
            assert_eq!(error.code(), DocaError::NOT_FOUND);
            for part in [
                part,
                "UROM_DOCA_LIBRARY is not set",
                "set UROM_DOCA_LIBRARY to",
                "feature `builtin`",
            ] {
                assert!(error.to_string().contains(part), "{part}: {error}");
            }
        }
        let named = Surroundings { variable: Some("builtin".into()), ..without(true, &[HERE]) };
        let error = named.choose(false).unwrap_err();
        assert_eq!(error.code(), DocaError::NOT_SUPPORTED);
        assert!(error.to_string().contains("UROM_DOCA_LIBRARY=builtin"), "{error}");
    }
}
