//! Builds with cargo from within a test.

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tinyjson::JsonValue;
use urom_abi::DocaError;

use super::profile::Profile;
use crate::error::{Error, Result};

/// Builds the plugin of a workspace package and returns its `.so`: the package's only `cdylib`,
/// named `libNAME.so` by cargo. Pass the file to [`Uromd::start`](super::Uromd::start).
///
/// # Errors
/// When cargo does not start or cannot build the package, with its output; when the package lacks a
/// `cdylib`; when the running program is not a test built by cargo.
pub fn plugin(package: &str) -> Result<PathBuf> {
    let what = || format!("building the plugin of package `{package}`");
    let messages = build(package, &["--lib"], what)?;
    let file = artifact(&messages, "cdylib", |artifact| {
        let files = member(artifact, "filenames")?.get::<Vec<JsonValue>>()?;
        files.iter().filter_map(text).find(|file| file.ends_with(".so"))
    });
    file.ok_or_else(|| {
        Error::new(DocaError::NOT_FOUND, what())
            .why("cargo made no shared object of it")
            .hint("a plugin's package has `crate-type = [\"cdylib\"]` in its [lib]")
    })
}

pub(super) fn uromd() -> Result<PathBuf> {
    let what = || "building `uromd`".to_owned();
    let messages = build("urom-service", &["--bin", "uromd"], what)?;
    let program = artifact(&messages, "bin", |artifact| text(member(artifact, "executable")?));
    program.ok_or_else(|| Error::new(DocaError::NOT_FOUND, what()).why("cargo named no program"))
}

fn build(package: &str, targets: &[&str], what: impl Fn() -> String) -> Result<String> {
    let failed = |why: String| Error::new(DocaError::UNEXPECTED, what()).why(why);
    let program = std::env::current_exe()
        .map_err(|error| failed(format!("cannot find the running program's own file: {error}")))?;
    let libraries = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let profile = Profile::of(&program, &libraries).ok_or_else(|| {
        failed(format!("{} does not lie where cargo builds", program.display()))
            .hint("this is for programs that `cargo test` built")
    })?;
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    // A test may have changed its directory; cargo's variable keeps the package's.
    if let Some(directory) = std::env::var_os("CARGO_MANIFEST_DIR") {
        command.current_dir(directory);
    }
    // These variables would rerun build scripts that watch them.
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&*name);
        }
    }
    command.args([
        "build",
        "--quiet",
        "--message-format",
        "json-render-diagnostics",
        "-p",
        package,
    ]);
    command
        .args(targets)
        .args(["--profile", &profile.name])
        .arg("--target-dir")
        .arg(&profile.directory);
    if let Some(target) = &profile.target {
        command.args(["--target", target]);
    }
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| failed(format!("cargo does not start: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(failed(format!("cargo ended with {}:\n{}", output.status, said.trim_end())));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The file of the last artifact: the requested package follows its dependencies.
fn artifact(
    messages: &str,
    kind: &str,
    find: impl Fn(&JsonValue) -> Option<&str>,
) -> Option<PathBuf> {
    let messages = messages.lines().rev().filter_map(|line| line.parse::<JsonValue>().ok());
    let is_kind = |message: &JsonValue| {
        let kinds = member(message, "target")
            .and_then(|target| member(target, "kind")?.get::<Vec<JsonValue>>());
        let is_artifact = member(message, "reason").and_then(text) == Some("compiler-artifact");
        is_artifact && kinds.is_some_and(|kinds| kinds.iter().any(|one| text(one) == Some(kind)))
    };
    messages.filter(is_kind).find_map(|message| find(&message).map(PathBuf::from))
}

fn member<'a>(value: &'a JsonValue, name: &str) -> Option<&'a JsonValue> {
    value.get::<HashMap<String, JsonValue>>()?.get(name)
}

fn text(value: &JsonValue) -> Option<&str> {
    value.get::<String>().map(String::as_str)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plugin_is_built_and_found() {
        let file = plugin("graph-plugin").expect("it is a package of this workspace");
        assert!(file.ends_with("libworker_graph.so") && file.is_file(), "{}", file.display());
    }

    #[test]
    fn a_package_that_does_not_exist_is_named() {
        let error = plugin("no-such-package").expect_err("it is missing").to_string();
        assert!(
            error.starts_with("building the plugin of package `no-such-package` failed")
                && error.contains("did not match"),
            "{error}"
        );
    }

    #[test]
    fn a_package_that_makes_no_shared_object_is_no_plugin() {
        let error = plugin("graph-protocol").expect_err("it is a Rust library").to_string();
        assert!(error.contains("no shared object") && error.contains("cdylib"), "{error}");
    }

    #[test]
    fn other_lines_than_cargos_messages_are_passed_over() {
        let messages = "not json\n{\"reason\":\"build-finished\"}\n[]\n{\"reason\":\"compiler-artifact\",\"target\":3}\n";
        assert_eq!(artifact(messages, "bin", |_| Some("found")), None);
    }
}
