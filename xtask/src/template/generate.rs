//! Generates workspaces with cargo-generate and with `cargo urom new`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use crate::shell;

#[derive(Clone, Debug)]
pub(super) struct Answers {
    pub(super) project: &'static str,
    pub(super) plugin: &'static str,
    pub(super) kind: &'static str,
    pub(super) c_header: bool,
    /// Empty for none.
    pub(super) license: &'static str,
    /// As for `cargo urom new --kit`: `registry`, `path=DIRECTORY` or `git=ADDRESS`.
    pub(super) kit: String,
}

impl Answers {
    pub(super) fn of(project: &'static str, plugin: &'static str, kit: &str) -> Self {
        Answers {
            project,
            plugin,
            kind: "answers",
            c_header: false,
            license: "",
            kit: kit.to_owned(),
        }
    }

    /// The answers for the workspace in place, which is two directories below the clone.
    pub(super) fn in_place() -> Self {
        Answers::of("example", "worker_example", "path=../..")
    }

    /// For `cargo generate --define`. Omits the defaults.
    fn defines(&self) -> Vec<String> {
        let (kit, source) = self.kit.split_once('=').unwrap_or((&self.kit, ".."));
        let c_header = self.c_header.to_string();
        let answers = [
            ("plugin_name", self.plugin, "worker_example"),
            ("kind", self.kind, "answers"),
            ("c_header", &c_header, "false"),
            ("license", self.license, ""),
            ("kit", kit, "path"),
            ("kit_source", source, ".."),
        ];
        let given = answers.iter().filter(|(_, answer, default)| answer != default);
        given.map(|(name, answer, _)| format!("{name}={answer}")).collect()
    }

    fn options(&self) -> Vec<&str> {
        let mut options = vec!["--plugin", self.plugin, "--kit", &self.kit, "--kind", self.kind];
        options.extend(self.c_header.then_some("--c-header"));
        if !self.license.is_empty() {
            options.extend(["--license", self.license]);
        }
        options
    }
}

/// Generates a new directory below `into`. `from` is `--path DIRECTORY`, or `--git ADDRESS` and the
/// folder there.
pub(super) fn cargo_generate<S: AsRef<OsStr>>(
    generator: &Path,
    into: &Path,
    from: impl IntoIterator<Item = S>,
    answers: &Answers,
) -> Result<PathBuf> {
    let mut command = Command::new(generator);
    command.arg("generate").args(from).args(["--name", answers.project]);
    command.args(shell::words("--silent --vcs none"));
    command.args(answers.defines().iter().flat_map(|define| ["--define", define]));
    shell::step("template: cargo generate", command.current_dir(into))?;
    made(into, answers)
}

pub(super) fn urom_new(tool: &Path, into: &Path, answers: &Answers) -> Result<PathBuf> {
    let mut command = Command::new(tool);
    command.args(["urom", "new", answers.project]).args(answers.options());
    shell::step("template: cargo urom new", command.current_dir(into))?;
    made(into, answers)
}

fn made(into: &Path, answers: &Answers) -> Result<PathBuf> {
    let directory = into.join(answers.project);
    let is_made = directory.join("Cargo.toml").is_file();
    ensure!(is_made, "nothing was generated in {}", directory.display());
    Ok(directory)
}
