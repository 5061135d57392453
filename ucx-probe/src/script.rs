//! The output of build scripts to cargo.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::advice::NotFound;
use crate::found::Found;
use crate::search::Search;

/// Adds UCX's directory to the rpath of each program, shared library and test of a package, from
/// the package's build script. `LD_LIBRARY_PATH` overrides it. Emits nothing if UCX is on the
/// loader's default path or was not found; in the latter case `ucx-sys` fails with the reasons.
///
/// # Panics
/// Outside a build script.
pub fn emit_rpath() {
    if let Some(directory) = rpath() {
        emit(&rpath_lines(&directory));
    }
}

/// Returns the directory that [`emit_rpath`] emits, for build scripts with more linker options.
/// Cargo then watches the files of the search.
///
/// # Panics
/// Outside a build script.
#[must_use]
pub fn rpath() -> Option<PathBuf> {
    searched().ok()?.rpath().map(Path::to_owned)
}

/// Links this package with UCX, or fails its build with the attempts and the remedies. Only for
/// `ucx-sys`. Does nothing on docs.rs, which sets `DOCS_RS` and does not have UCX.
///
/// # Panics
/// Outside a build script.
pub fn emit_link() {
    emit(&match searched() {
        Ok(found) => link_lines(&found),
        Err(missing) => failure_lines(&missing.to_string(), std::env::var_os("DOCS_RS").is_some()),
    });
}

fn failure_lines(missing: &str, only_documented: bool) -> Vec<String> {
    if only_documented {
        return Vec::new();
    }
    missing.lines().map(|line| format!("cargo::error={line}")).collect()
}

#[expect(
    clippy::panic,
    reason = "it documents its panic, and a build script cannot return an error"
)]
fn searched() -> Result<Found, NotFound> {
    let search = Search::of_build_script().unwrap_or_else(|reason| panic!("{reason}"));
    let answer = search.find();
    emit(&watched(&search, answer.as_ref().ok()));
    answer
}

/// Without these lines cargo runs the script again only when the script changes.
fn watched(search: &Search, found: Option<&Found>) -> Vec<String> {
    let mut lines: Vec<_> = search
        .variables()
        .iter()
        .map(|name| format!("cargo::rerun-if-env-changed={name}"))
        .collect();
    match found {
        Some(found) => lines.extend(
            found.files.iter().map(|file| format!("cargo::rerun-if-changed={}", file.display())),
        ),
        // This file never exists, so cargo runs the script in every build until UCX is found.
        None => lines.push("cargo::rerun-if-changed=no-ucx-was-found".to_owned()),
    }
    lines
}

fn rpath_lines(directory: &Path) -> Vec<String> {
    // DT_RUNPATH, which LD_LIBRARY_PATH overrides; some linkers default to DT_RPATH. Do not use
    // -Wl: it splits a path at commas.
    let directory = directory.display().to_string();
    let words = ["--enable-new-dtags", "-rpath", &directory];
    words
        .iter()
        .flat_map(|word| ["-Xlinker", word])
        .map(|word| format!("cargo::rustc-link-arg={word}"))
        .collect()
}

fn link_lines(found: &Found) -> Vec<String> {
    let mut lines: Vec<_> =
        ["ucp", "ucs"].map(|name| format!("cargo::rustc-link-lib=dylib={name}")).into();
    if let Some(directory) = found.directory.as_deref() {
        lines.push(format!("cargo::rustc-link-search=native={}", directory.display()));
    }
    // For this package's own tests. Other packages do not get these lines.
    lines.extend(found.rpath().map(rpath_lines).unwrap_or_default());
    lines
}

/// Ignores write errors: cargo reads the stream until the script ends.
fn emit(lines: &[String]) {
    let mut out = std::io::stdout().lock();
    for line in lines {
        let _ = writeln!(out, "{line}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Source;

    fn found(source: Source, directory: Option<&str>) -> Found {
        let (directory, files) = (directory.map(PathBuf::from), vec!["/u/libucp.so".into()]);
        Found { source, version: (1, 22), directory, files }
    }

    #[test]
    fn no_ucx_is_an_error_unless_the_build_is_for_documentation() {
        assert_eq!(failure_lines("one\ntwo", false), ["cargo::error=one", "cargo::error=two"]);
        assert_eq!(failure_lines("one\ntwo", true), Vec::<String>::new());
    }

    #[test]
    fn an_unpacked_one_is_named_to_linker_and_loader() {
        let expected = [
            "cargo::rustc-link-lib=dylib=ucp",
            "cargo::rustc-link-lib=dylib=ucs",
            "cargo::rustc-link-search=native=/a,b",
            "cargo::rustc-link-arg=-Xlinker",
            "cargo::rustc-link-arg=--enable-new-dtags",
            "cargo::rustc-link-arg=-Xlinker",
            "cargo::rustc-link-arg=-rpath",
            "cargo::rustc-link-arg=-Xlinker",
            "cargo::rustc-link-arg=/a,b",
        ];
        assert_eq!(link_lines(&found(Source::BuildTree, Some("/a,b"))), expected);
    }

    #[test]
    fn the_loaders_default_paths_get_no_rpath() {
        let multiarch = found(Source::Multiarch, Some("/usr/lib/aarch64-linux-gnu"));
        assert_eq!(link_lines(&multiarch).len(), 3);
        assert_eq!(link_lines(&found(Source::PkgConfig, None)).len(), 2);
    }

    #[test]
    fn a_script_without_an_answer_is_run_again_each_time() {
        let search = Search::with("x86_64-unknown-linux-gnu", |_| None);
        let again = |found: Option<&Found>| watched(&search, found).join("\n");
        assert!(again(None).contains("rerun-if-changed=no-ucx-was-found"));
        let known = again(Some(&found(Source::PkgConfig, None)));
        assert!(known.ends_with("\ncargo::rerun-if-changed=/u/libucp.so"), "{known}");
    }
}
