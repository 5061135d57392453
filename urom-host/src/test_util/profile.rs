//! The running test's profile, target and directory, derived from the path of its file.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use urom_service::embedded::beside;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Profile {
    /// The argument of `--profile`.
    pub(super) name: String,
    pub(super) target: Option<String>,
    pub(super) directory: PathBuf,
}

impl Profile {
    /// `None` for a program outside `DIRECTORY[/TRIPLE]/PROFILE`. `libraries` is `LD_LIBRARY_PATH`.
    pub(super) fn of(program: &Path, libraries: &OsStr) -> Option<Profile> {
        let profile =
            beside(program, libraries).filter(|profile| Some(&**profile) != program.parent())?;
        let directory = profile.parent()?;
        // The profile `dev` uses the directory `debug`.
        let name = match profile.file_name()?.to_str()? {
            "debug" => "dev",
            name => name,
        };
        let triple = directory.file_name().and_then(OsStr::to_str).filter(|name| is_triple(name));
        let target = triple.map(str::to_owned);
        let directory = if target.is_some() { directory.parent()? } else { directory };
        Some(Profile { name: name.to_owned(), target, directory: directory.to_owned() })
    }
}

/// The kit only supports Linux with GNU libc.
fn is_triple(name: &str) -> bool {
    name.strip_prefix(std::env::consts::ARCH) == Some("-unknown-linux-gnu")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(program: &str) -> Option<Profile> {
        Profile::of(Path::new(program), OsStr::new(""))
    }

    fn profile(name: &str, target: Option<&str>, directory: &str) -> Option<Profile> {
        Some(Profile {
            name: name.to_owned(),
            target: target.map(str::to_owned),
            directory: directory.into(),
        })
    }

    #[test]
    fn the_profile_is_the_directory_above_deps() {
        assert_eq!(of("/w/target/debug/deps/t-0123"), profile("dev", None, "/w/target"));
        assert_eq!(of("/w/target/release/deps/t-0123"), profile("release", None, "/w/target"));
        assert_eq!(of("/elsewhere/small/deps/t"), profile("small", None, "/elsewhere"));
    }

    #[test]
    fn a_directory_named_like_this_machines_triple_is_the_target() {
        let triple = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let program = format!("/w/target/{triple}/debug/deps/t");
        assert_eq!(of(&program), profile("dev", Some(&triple), "/w/target"));
        assert_eq!(of("/w/x86_64-project/debug/deps/t"), profile("dev", None, "/w/x86_64-project"));
    }

    #[test]
    fn a_build_elsewhere_is_finished_where_cargo_says() {
        let libraries = OsStr::new("/w/target/debug:/elsewhere/debug/deps:/rust/lib");
        for program in
            ["/elsewhere/debug/deps/t-0123", "/elsewhere/debug/build/host/0123/out/t-0123"]
        {
            assert_eq!(
                Profile::of(Path::new(program), libraries),
                profile("dev", None, "/w/target"),
                "{program}"
            );
        }
    }

    #[test]
    fn a_program_that_lies_elsewhere_has_no_profile() {
        for program in ["/usr/bin/t", "/w/target/debug/t", "/w/out/t", "t", "/", "/deps/t"] {
            assert_eq!(of(program), None, "{program}");
        }
    }
}
