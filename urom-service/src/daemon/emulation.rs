//! `--emulate-exported-memory`: the library that workers preload.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const LIBRARY: &str = "liburom_ucx_emulation.so";

const PRELOAD: &str = "LD_PRELOAD";

pub(crate) fn library() -> Result<PathBuf> {
    let program = std::env::current_exe().context("asking for this program's own file")?;
    let directory = program.parent().unwrap_or(Path::new("/"));
    library_of(directory)
}

/// The library for a program in `directory`: in `../lib`, or beside it in a build tree.
fn library_of(directory: &Path) -> Result<PathBuf> {
    let paths = [directory.join("../lib").join(LIBRARY), directory.join(LIBRARY)];
    let Some(file) = paths.iter().find(|path| path.is_file()) else {
        let [installed, built] = paths.map(|path| path.display().to_string());
        bail!(
            "--emulate-exported-memory needs {LIBRARY}, which is neither {installed} nor {built}: \
             start the uromd of an installation (`cargo xtask install --prefix DIR` in the kit's \
             clone makes one), or build the library into the directory of a uromd that cargo \
             built, by `cargo build -p urom-ucx-emulation`"
        )
    };
    let file = file.canonicalize().with_context(|| file.display().to_string())?;
    // Separators for the loader, which cannot be escaped.
    if file.as_os_str().as_bytes().iter().any(|byte| byte.is_ascii_whitespace() || *byte == b':') {
        bail!(
            "--emulate-exported-memory: {} cannot be preloaded, because there is a space or a \
             colon in its path: move the installation, or the build tree, to a path without",
            file.display()
        );
    }
    Ok(file)
}

/// Makes a worker preload the library before its other preloads.
pub(crate) fn preload(command: &mut Command, library: &Path) {
    let others = command.get_envs().filter(|(name, _)| *name == PRELOAD).find_map(|(_, it)| it);
    let mut all = OsString::from(library);
    if let Some(others) = others.filter(|others| !others.is_empty()).map(OsStr::to_owned) {
        all.push(":");
        all.push(others);
    }
    command.env(PRELOAD, all);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(name: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(name).join(LIBRARY);
        std::fs::create_dir_all(directory.path().join("bin")).unwrap();
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, "").unwrap();
        directory
    }

    #[test]
    fn the_library_is_found_in_an_installation_and_in_a_build_tree() {
        for (name, found) in [("lib", "lib"), ("bin", "bin")] {
            let directory = with(name);
            let library = library_of(&directory.path().join("bin")).unwrap();
            let expected = directory.path().canonicalize().unwrap().join(found).join(LIBRARY);
            assert_eq!(library, expected);
        }
    }

    #[test]
    fn without_the_library_the_error_says_where_it_was_looked_for_and_what_to_do() {
        let directory = with("elsewhere");
        let error = library_of(&directory.path().join("bin")).unwrap_err().to_string();
        for part in [LIBRARY, "/bin/../lib/", "cargo xtask install", "--emulate-exported-memory"] {
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_path_that_the_loader_would_split_is_refused() {
        for name in ["with space", "with:colon"] {
            let directory = with(name);
            let error = library_of(&directory.path().join(name)).unwrap_err().to_string();
            assert!(error.contains(name) && error.contains("cannot be preloaded"), "{error}");
        }
    }

    #[test]
    fn the_library_comes_before_what_was_to_be_preloaded_anyway() {
        for (given, expected) in [(None, "/l.so"), (Some(""), "/l.so"), (Some("a:b"), "/l.so:a:b")]
        {
            let mut command = Command::new("worker");
            command.env_clear().envs(given.map(|given| (PRELOAD, given)));
            preload(&mut command, Path::new("/l.so"));
            let found: Vec<_> = command.get_envs().collect();
            assert_eq!(found, [(OsStr::new(PRELOAD), Some(OsStr::new(expected)))]);
        }
    }
}
