//! What `check` prints: for people, or as JSON.

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use urom_abi::Count;

use super::finding::{Finding, Severity, display};
use crate::elf::{ElfFile, Machine};
use crate::output::{plain, say};

/// A file and what was found.
#[derive(Debug)]
pub(crate) struct Report {
    pub(crate) file: PathBuf,
    /// The name a service gives it.
    pub(crate) name: String,
    /// `None` when it is no shared object.
    pub(crate) elf: Option<ElfFile>,
    /// What `urom_plugin_get_version` gives, where it was called.
    pub(crate) version: Option<u64>,
    /// The interface's version word, where it was asked for.
    pub(crate) word: Option<u64>,
    pub(crate) findings: Vec<Finding>,
}

/// What scripts get. Fields may come to it, and none goes.
#[derive(Serialize)]
pub(crate) struct Json<'a> {
    file: &'a PathBuf,
    plugin: &'a str,
    machine: Option<Machine>,
    version: Option<u64>,
    doca: Option<String>,
    glibc: Option<String>,
    needed: &'a [String],
    errors: usize,
    warnings: usize,
    findings: Vec<JsonFinding>,
}

#[derive(Serialize)]
struct JsonFinding {
    severity: Severity,
    code: &'static str,
    text: String,
    remedy: String,
}

impl Report {
    fn count(&self, severity: Severity) -> usize {
        self.findings.iter().filter(|finding| finding.severity() == severity).count()
    }

    /// Whether no service takes it, or no host can use it.
    pub(crate) fn is_bad(&self) -> bool {
        self.count(Severity::Error) > 0
    }

    fn machine(&self) -> Option<Machine> {
        self.elf.as_ref().and_then(|elf| elf.machine.as_ref().ok().copied())
    }

    fn glibc(&self) -> Option<String> {
        let glibc = self.elf.as_ref()?.glibc.as_ref()?;
        Some(format!("{}.{}", glibc.version.0, glibc.version.1))
    }

    fn needed(&self) -> &[String] {
        self.elf.as_ref().map_or(&[], |elf| &elf.needed)
    }

    /// For scripts.
    pub(crate) fn json(&self) -> Json<'_> {
        Json {
            file: &self.file,
            plugin: &self.name,
            machine: self.machine(),
            version: self.version,
            doca: self.word.map(display),
            glibc: self.glibc(),
            needed: self.needed(),
            errors: self.count(Severity::Error),
            warnings: self.count(Severity::Warning),
            findings: self.findings.iter().map(JsonFinding::of).collect(),
        }
    }

    /// The findings alone, on standard error.
    pub(crate) fn print_findings(&self) {
        self.findings.iter().for_each(|finding| say(&line(finding)));
    }

    /// For people: the facts, the findings and what they come to.
    pub(crate) fn text(&self) -> String {
        let file = plain(&self.file.to_string_lossy());
        let findings: String = self.findings.iter().map(|finding| line(finding) + "\n").collect();
        let counts = [(Severity::Error, "error"), (Severity::Warning, "warning")];
        let counts = counts.map(|(severity, word)| Count(self.count(severity), word).to_string());
        let verdict = match self.is_bad() {
            true => "not fit for a service".to_owned(),
            false => format!("fit for a service, as the plugin `{}`", plain(&self.name)),
        };
        format!("{file}: {}\n{findings}{verdict}: {}\n", plain(&self.facts()), counts.join(", "))
    }

    fn facts(&self) -> String {
        let mut facts = Vec::new();
        if let Some(machine) = self.machine() {
            let here =
                if Machine::OURS == Some(machine) { "this machine" } else { "not this machine" };
            let bluefield = if machine == Machine::Aarch64 { ", a BlueField" } else { "" };
            facts.push(format!("for {} ({here}{bluefield})", machine.name()));
        }
        facts.extend(self.version.map(|version| format!("version {version}")));
        facts.extend(self.word.map(|word| format!("interface of DOCA {}", display(word))));
        facts.extend(self.glibc().map(|glibc| format!("needs glibc {glibc}")));
        if !self.needed().is_empty() {
            facts.push(format!("libraries {}", self.needed().join(" ")));
        }
        facts.join(", ")
    }
}

impl JsonFinding {
    fn of(finding: &Finding) -> JsonFinding {
        JsonFinding {
            severity: finding.severity(),
            code: finding.code(),
            text: finding.text(),
            remedy: finding.remedy(),
        }
    }
}

/// A finding for people.
fn line(finding: &Finding) -> String {
    let (style, word) = match finding.severity() {
        Severity::Error => (AnsiColor::Red.on_default().bold(), "error"),
        Severity::Warning => (AnsiColor::Yellow.on_default().bold(), "warning"),
        Severity::Note => (Style::new().bold(), "note"),
    };
    format!("{style}{word}{style:#}: {}\n  -> {}", plain(&finding.text()), plain(&finding.remedy()))
}
