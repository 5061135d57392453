//! The error when there is no UCX: what was tried, and what helps.

use std::error::Error;
use std::fmt::{self, Display, Formatter};
use std::path::Path;

use crate::{OLDEST, PINNED, VARIABLE, of_target};

/// No UCX for the target. [`Display`] prints every attempt and remedy, in several lines.
#[derive(Clone, Debug)]
pub struct NotFound {
    target: String,
    attempts: Vec<String>,
    remedies: Vec<String>,
}

impl NotFound {
    pub(crate) fn new(wanted: &Wanted<'_>, attempts: Vec<String>) -> Self {
        Self { target: wanted.target.to_owned(), attempts, remedies: wanted.remedies() }
    }

    /// Why each place was passed over, in the order of the search.
    #[must_use]
    pub fn attempts(&self) -> &[String] {
        &self.attempts
    }

    /// What helps: one of these, each a line that ends with a command or a setting.
    #[must_use]
    pub fn remedies(&self) -> &[String] {
        &self.remedies
    }
}

/// What was searched for.
#[derive(Clone, Copy)]
pub(crate) struct Wanted<'a> {
    pub(crate) target: &'a str,
    pub(crate) arch: &'a str,
    /// Whether the target is another machine than this one.
    pub(crate) foreign: bool,
    /// Cargo's target directory, as far as it is known.
    pub(crate) target_directory: Option<&'a Path>,
    /// The clone of the kit, where there is one.
    pub(crate) clone: Option<&'a Path>,
}

impl Wanted<'_> {
    fn remedies(self) -> Vec<String> {
        let Self { target, arch, foreign, .. } = self;
        if crate::unpacked::machine(arch).is_err() {
            return vec![
                "build for x86_64-unknown-linux-gnu or aarch64-unknown-linux-gnu".to_owned(),
            ];
        }
        let mut remedies = Vec::new();
        if let Some(clone) = self.clone {
            let option = if foreign { format!(" --target {target}") } else { String::new() };
            remedies.push(format!(
                "with the kit's clone: cd {} && cargo xtask setup{option}",
                quoted(clone)
            ));
        }
        let tree = self.target_directory.unwrap_or(Path::new("target"));
        let place = tree.join("ucx").join(format!("{PINNED}-{arch}"));
        remedies.push(format!(
            "from PyPI: python3 -m pip install --no-deps --only-binary=:all: --platform \
             manylinux_2_28_{arch} --target {} libucx-cu12=={PINNED}",
            quoted(&place)
        ));
        let (major, minor) = OLDEST;
        let distribution =
            format!("from a Debian or Ubuntu whose libucx-dev is {major}.{minor} or newer");
        remedies.push(if foreign {
            let debian = if arch == "aarch64" { "arm64" } else { "amd64" };
            format!(
                "{distribution}: dpkg --add-architecture {debian} && apt-get update && \
                 apt-get install libucx-dev:{debian}"
            )
        } else {
            format!("{distribution}: apt-get install libucx-dev pkg-config")
        });
        let variable = if foreign { of_target(VARIABLE, target) } else { VARIABLE.to_owned() };
        remedies.push(format!(
            "with a UCX you have, the absolute path of what holds lib/libucp.so and include/ucp: \
             {variable}=DIR"
        ));
        remedies
    }
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

/// As a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/._-+=@:,".contains(&byte);
    if text.bytes().all(plain) { text } else { format!("'{}'", text.replace('\'', r"'\''")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    const THIS: Wanted<'static> = Wanted {
        target: "x86_64-unknown-linux-gnu",
        arch: "x86_64",
        foreign: false,
        target_directory: None,
        clone: None,
    };
    const OTHER: Wanted<'static> =
        Wanted { target: "aarch64-unknown-linux-gnu", arch: "aarch64", foreign: true, ..THIS };

    fn text(wanted: &Wanted<'_>) -> String {
        NotFound::new(wanted, vec!["first".to_owned(), "second".to_owned()]).to_string()
    }

    #[test]
    fn every_attempt_and_the_exact_command_are_told() {
        let text = text(&Wanted { target_directory: Some(Path::new("/w/target")), ..THIS });
        let expected = [
            "no UCX 1.16 or newer to link with for x86_64-unknown-linux-gnu\n  1. first\n  \
             2. second\n",
            "python3 -m pip install --no-deps --only-binary=:all: --platform manylinux_2_28_x86_64 \
             --target /w/target/ucx/1.22.0-x86_64 libucx-cu12==1.22.0\n",
            "apt-get install libucx-dev pkg-config\n",
            "UROM_UCX_DIR=DIR",
        ];
        for part in expected {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
        assert!(!text.contains("xtask"), "there is no clone: {text}");
    }

    #[test]
    fn for_a_foreign_target_the_commands_are_the_targets() {
        let text = text(&Wanted { clone: Some(Path::new("/my kit")), ..OTHER });
        let expected = [
            "cd '/my kit' && cargo xtask setup --target aarch64-unknown-linux-gnu\n",
            "--platform manylinux_2_28_aarch64 --target target/ucx/1.22.0-aarch64 ",
            "apt-get install libucx-dev:arm64\n",
            "UROM_UCX_DIR_aarch64_unknown_linux_gnu=DIR",
        ];
        for part in expected {
            assert!(text.contains(part), "`{part}` is not in:\n{text}");
        }
    }

    #[test]
    fn a_path_is_written_as_a_shell_takes_it() {
        assert_eq!(quoted(Path::new("/a/b-1.2_x")), "/a/b-1.2_x");
        assert_eq!(quoted(Path::new("/a b/$c")), "'/a b/$c'");
        assert_eq!(quoted(Path::new("/it's")), r"'/it'\''s'");
    }
}
