//! Transcripts in Markdown: a shell runs each line that begins with `$`, with its continuation
//! lines that begin with `>`. The output is compared with the following lines.
//!
//! Standard output comes first, then standard error after `!`, without logs and times, then a
//! nonzero exit code after `?`. `SNAPSHOTS=overwrite` accepts the output.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result};
use snapbox::{Assert, Data, Redactions};

use crate::built::built;
use crate::command::without_service;

const KIT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/..");

const CARGO: &str =
    r#"cargo() { if [ "$1" = urom ]; then "$TOOL" "$@"; else command cargo "$@"; fi; }"#;

/// An empty directory and variables for the shell. `KIT` is this project's workspace, `TOOL` the
/// program `cargo-urom`.
#[derive(Debug)]
pub struct Transcript {
    directory: tempfile::TempDir,
    variables: BTreeMap<&'static str, OsString>,
}

impl Transcript {
    pub fn new() -> Result<Transcript> {
        let mut variables = BTreeMap::from([("KIT", fs::canonicalize(KIT)?.into_os_string())]);
        if let Ok(program) = built("cargo-urom") {
            variables.insert("TOOL", program.into_os_string());
        }
        Ok(Transcript { directory: tempfile::tempdir()?, variables })
    }

    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Sets a variable; transcripts show its value as its name in brackets.
    pub fn set(&mut self, name: &'static str, value: impl AsRef<OsStr>) {
        self.variables.insert(name, value.as_ref().to_owned());
    }

    /// Runs a script; `cargo urom` runs `TOOL`.
    pub fn run(&self, script: &str) -> Result<Output> {
        let mut shell = Command::new("bash");
        shell.args(["-c", &format!("{CARGO}\n{script}")]);
        shell.current_dir(self.path()).stdin(Stdio::null()).env_remove("CARGO_MANIFEST_DIR");
        without_service(&mut shell).envs(&self.variables).output().context("cannot start bash")
    }

    fn says(&self, script: &str) -> Result<String> {
        let said = self.run(script)?;
        let [out, err] = [&said.stdout, &said.stderr].map(|text| String::from_utf8_lossy(text));
        // Log lines begin with the time in brackets.
        let varies = |line: &&str| line.starts_with('[') || line.contains("Answered in ");
        let err = err.lines().filter(|line| !varies(line)).map(|line| format!("! {line}"));
        let code = said.status.code().context("a signal ended the shell")?;
        let code = (code != 0).then(|| format!("? {code}"));
        let lines = out.lines().map(str::to_owned).chain(err).chain(code);
        Ok(lines.map(|line| format!("{}\n", line.trim_end())).collect())
    }

    pub fn check(&self, file: impl AsRef<Path>) -> Result<()> {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(file);
        let expected = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let (mut actual, mut is_output) = (String::new(), false);
        let mut lines = expected.lines().peekable();
        while let Some(line) = lines.next() {
            is_output &= line != "```";
            if let Some(first) = line.strip_prefix("$ ") {
                is_output = true;
                let mut script = first.to_owned();
                actual += &format!("{line}\n");
                while let Some(more) = lines.next_if(|line| line.starts_with('>')) {
                    script += &format!("\n{}", more[1..].trim_start_matches(' '));
                    actual += &format!("{more}\n");
                }
                actual += &self.says(&script)?;
            } else if !is_output {
                actual += &format!("{line}\n");
            }
        }
        let mut redactions = Redactions::new();
        redactions.insert("[DIRECTORY]", self.path().to_owned())?;
        for (name, value) in &self.variables {
            redactions.insert(format!("[{name}]").leak(), value.to_string_lossy().into_owned())?;
        }
        let assert = Assert::new().action_env("SNAPSHOTS").redact_with(redactions);
        assert.normalize_paths(false).eq(actual, Data::read_from(&file, None));
        Ok(())
    }
}
