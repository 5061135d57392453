//! Generating workspaces: with the real cargo-generate, and with `cargo urom new`.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, bail};

use crate::workspace::Workspace;
use crate::{shell, tools};

pub(super) struct Generator {
    program: PathBuf,
}

#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) project: &'static str,
    pub(super) plugin: &'static str,
    pub(super) ucx: bool,
    pub(super) c_header: bool,
    pub(super) kit: Kit,
}

#[derive(Clone, Debug)]
pub(super) enum Kit {
    Path(String),
    Git(String),
    Registry,
}

impl Default for Answers {
    /// The template's defaults, and the project's name in place.
    fn default() -> Self {
        let kit = Kit::Path("..".to_owned());
        Answers { project: "example", plugin: "worker_example", ucx: false, c_header: false, kit }
    }
}

impl Kit {
    fn kind(&self) -> &'static str {
        match self {
            Self::Path(_) => "path",
            Self::Git(_) => "git",
            Self::Registry => "registry",
        }
    }

    fn source(&self) -> Option<&str> {
        match self {
            Self::Path(source) | Self::Git(source) => Some(source),
            Self::Registry => None,
        }
    }
}

impl Answers {
    /// Those that give the workspace in place, which is two directories below the clone.
    pub(super) fn in_place() -> Self {
        Answers { kit: Kit::Path("../..".to_owned()), ..Self::default() }
    }

    /// For `cargo generate --define`. What is the default is left to the template.
    fn defines(&self) -> Vec<String> {
        let defaults = Answers::default();
        let mut defines = Vec::new();
        let mut define =
            |name: &str, value: &dyn std::fmt::Display| defines.push(format!("{name}={value}"));
        if self.plugin != defaults.plugin {
            define("plugin_name", &self.plugin);
        }
        if self.ucx {
            define("ucx", &true);
        }
        if self.c_header {
            define("c_header", &true);
        }
        if self.kit.kind() != defaults.kit.kind() {
            define("kit", &self.kit.kind());
        }
        if let Some(source) =
            self.kit.source().filter(|_| self.kit.source() != defaults.kit.source())
        {
            define("kit_source", &source);
        }
        defines
    }

    /// For `cargo urom new`.
    fn options(&self) -> Vec<String> {
        let kit = match self.kit.source() {
            Some(source) => format!("{}={source}", self.kit.kind()),
            None => self.kit.kind().to_owned(),
        };
        let mut options =
            vec!["--plugin".to_owned(), self.plugin.to_owned(), "--kit".to_owned(), kit];
        options.extend(self.ucx.then(|| "--ucx".to_owned()));
        options.extend(self.c_header.then(|| "--c-header".to_owned()));
        options
    }
}

impl Generator {
    /// Installs cargo-generate unless it is there.
    pub(super) fn install(workspace: &Workspace) -> Result<Self> {
        Ok(Self { program: tools::GENERATE.install(workspace)? })
    }

    /// Generates from the template in a folder, into a new directory below `into`.
    pub(super) fn path(&self, into: &Path, template: &Path, answers: &Answers) -> Result<PathBuf> {
        self.generate(into, &["--path".into(), template.into()], answers)
    }

    /// Generates from the template in a folder of a repository.
    pub(super) fn git(
        &self,
        into: &Path,
        address: &str,
        folder: &str,
        answers: &Answers,
    ) -> Result<PathBuf> {
        self.generate(into, &["--git".into(), address.into(), folder.into()], answers)
    }

    /// Generates into the root of a clone from the template there. It is another workspace's root,
    /// and what is made is a workspace and no member.
    pub(super) fn in_clone(
        &self,
        clone: &Path,
        folder: &str,
        answers: &Answers,
    ) -> Result<PathBuf> {
        self.generate(clone, &["--path".into(), folder.into(), "--no-workspace".into()], answers)
    }

    fn generate(&self, into: &Path, from: &[OsString], answers: &Answers) -> Result<PathBuf> {
        let mut command = Command::new(&self.program);
        command.arg("generate").args(from).args([
            "--name",
            answers.project,
            "--silent",
            "--vcs",
            "none",
        ]);
        for define in answers.defines() {
            command.args(["--define", &define]);
        }
        shell::step("template: cargo generate", command.current_dir(into))?;
        made(into, answers)
    }
}

/// Makes the same with `cargo urom new`, the program `tool`.
pub(super) fn urom_new(tool: &Path, into: &Path, answers: &Answers) -> Result<PathBuf> {
    let mut command = Command::new(tool);
    command.args(["urom", "new", answers.project]).args(answers.options());
    shell::step("template: cargo urom new", command.current_dir(into))?;
    made(into, answers)
}

fn made(into: &Path, answers: &Answers) -> Result<PathBuf> {
    let directory = into.join(answers.project);
    if !directory.join("Cargo.toml").is_file() {
        bail!("nothing was generated in {}", directory.display());
    }
    Ok(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn defaults_are_left_to_the_template() {
        assert!(Answers::default().defines().is_empty());
        assert_eq!(Answers::in_place().defines(), ["kit_source=../.."]);
        assert_eq!(
            Answers::default().options(),
            ["--plugin", "worker_example", "--kit", "path=.."]
        );
    }

    #[test]
    fn all_else_is_said_to_both() {
        let kit = Kit::Git("file:///kit".to_owned());
        let answers = Answers { project: "a", plugin: "worker_a", ucx: true, c_header: true, kit };
        let defines = [
            "plugin_name=worker_a",
            "ucx=true",
            "c_header=true",
            "kit=git",
            "kit_source=file:///kit",
        ];
        assert_eq!(answers.defines(), defines);
        let options = ["--plugin", "worker_a", "--kit", "git=file:///kit", "--ucx", "--c-header"];
        assert_eq!(answers.options(), options);
        let answers = Answers { kit: Kit::Registry, ..Answers::default() };
        assert_eq!(answers.defines(), ["kit=registry"]);
    }
}
