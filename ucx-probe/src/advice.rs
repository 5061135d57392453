//! The error of a search without a result: the attempts and the remedies.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use crate::search::{Search, of_target};
use crate::{OLDEST, PINNED, VARIABLE};

/// UCX was not found for the target. [`Display`] prints all attempts and remedies.
#[derive(Clone, Debug)]
pub struct NotFound {
    target: String,
    attempts: Vec<String>,
    remedies: Vec<String>,
}

impl NotFound {
    pub(crate) fn new(search: &Search, attempts: Vec<String>) -> Self {
        Self { target: search.target.clone(), attempts, remedies: remedies(search) }
    }

    /// For a variable that ended the search: only a change of the variable helps.
    pub(crate) fn of_variable(search: &Search, variable: &str, reason: String) -> Self {
        let remedies = vec![
            with_own(variable),
            format!("to search the other paths, with the set-up's: unset {variable}"),
        ];
        Self { target: search.target.clone(), attempts: vec![reason], remedies }
    }

    /// Returns the reason why each location was skipped, in search order.
    #[must_use]
    pub fn attempts(&self) -> &[String] {
        &self.attempts
    }

    /// Returns alternative remedies. Each line ends with a command or a setting.
    #[must_use]
    pub fn remedies(&self) -> &[String] {
        &self.remedies
    }
}

fn remedies(search: &Search) -> Vec<String> {
    let Search { target, arch, foreign, .. } = search;
    if crate::unpacked::machine(arch).is_err() || !target.contains("-linux-") {
        return vec!["build for x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu".to_owned()];
    }
    let variable = if *foreign { of_target(VARIABLE, target) } else { VARIABLE.to_owned() };
    // The packages are for glibc.
    if !target.ends_with("-gnu") {
        return vec![with_own(&variable)];
    }
    let mut remedies = Vec::new();
    if search.kit.join("xtask").is_dir() {
        let option = if *foreign { format!(" --target {target}") } else { String::new() };
        remedies.push(format!(
            "with the kit's clone, if you may write there: cd {} && cargo xtask setup{option}",
            quoted(&search.kit)
        ));
    }
    let tree = search.target_directory.as_deref().unwrap_or(Path::new("target"));
    let directory = tree.join("ucx").join(format!("{PINNED}-{arch}"));
    remedies.push(format!(
        "from PyPI: python3 -m pip install --no-deps --only-binary=:all: --platform \
             manylinux_2_28_{arch} --target {} libucx-cu12=={PINNED}",
        quoted(&directory)
    ));
    let (major, minor) = OLDEST;
    let distribution =
        format!("from a Debian or Ubuntu whose libucx-dev is {major}.{minor} or newer");
    remedies.push(if *foreign {
        let debian = if arch == "aarch64" { "arm64" } else { "amd64" };
        format!(
            "{distribution}: dpkg --add-architecture {debian} && apt-get update && \
                 apt-get install libucx-dev:{debian}"
        )
    } else {
        format!("{distribution}: apt-get install libucx-dev pkg-config")
    });
    remedies.push(with_own(&variable));
    remedies
}

fn with_own(variable: &str) -> String {
    format!(
        "with a UCX you have, the absolute path of what holds lib/libucp.so and include/ucp: \
         {variable}=DIR"
    )
}

impl Display for NotFound {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let (major, minor) = OLDEST;
        write!(out, "no UCX {major}.{minor} or newer to link with for {}", self.target)?;
        for (number, attempt) in self.attempts.iter().enumerate() {
            write!(out, "\n  {}. {attempt}", number + 1)?;
        }
        write!(out, "\none of these brings it:")?;
        for remedy in &self.remedies {
            write!(out, "\n  - {remedy}")?;
        }
        Ok(())
    }
}

impl Error for NotFound {}

fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=@:,".contains(&byte);
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_attempt_and_the_exact_commands_for_the_target_are_told() {
        let this = [
            "no UCX 1.16 or newer to link with for x86_64-unknown-linux-gnu\n  1. first\n  \
             2. second\n",
            "python3 -m pip install --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 \
             --target /w/target/ucx/1.22.0-x86_64 libucx-cu12==1.22.0\n",
            "apt-get install libucx-dev pkg-config\n",
            "UROM_UCX_DIR=DIR",
        ];
        let other = [
            "cargo xtask setup --target aarch64-unknown-linux-gnu\n",
            "--platform manylinux_2_28_aarch64 --target target/ucx/1.22.0-aarch64 ",
            "apt-get install libucx-dev:arm64\n",
            "UROM_UCX_DIR_aarch64_unknown_linux_gnu=DIR",
        ];
        let search = |target: &str| Search {
            foreign: target.starts_with("aarch64"),
            ..Search::with(target, |_| None)
        };
        let without_clone = Search {
            target_directory: Some("/w/target".into()),
            kit: "/nowhere".into(),
            ..search("x86_64-unknown-linux-gnu")
        };
        for (search, expected) in
            [(without_clone, this), (search("aarch64-unknown-linux-gnu"), other)]
        {
            let attempts = vec!["first".to_owned(), "second".to_owned()];
            let text = NotFound::new(&search, attempts).to_string();
            for part in expected {
                assert!(text.contains(part), "`{part}` is not in:\n{text}");
            }
            assert_eq!(text.contains("xtask"), search.foreign, "where a clone is: {text}");
        }
    }

    #[test]
    fn packages_for_glibc_are_advised_for_glibc_alone() {
        let remedies =
            |target: &str| remedies(&Search { foreign: false, ..Search::with(target, |_| None) });
        let musl = remedies("x86_64-unknown-linux-musl");
        assert!(musl.len() == 1 && musl[0].ends_with("UROM_UCX_DIR=DIR"), "{musl:?}");
        for target in ["aarch64-apple-darwin", "riscv64gc-unknown-linux-gnu"] {
            let other = remedies(target);
            assert!(other.len() == 1 && other[0].starts_with("build for x86_64"), "{other:?}");
        }
    }

    #[test]
    fn a_path_is_written_as_a_shell_takes_it() {
        assert_eq!(quoted(Path::new("/a/b-1.2_x")), "/a/b-1.2_x");
        assert_eq!(quoted(Path::new("/a b/$c")), "'/a b/$c'");
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
    }
}
