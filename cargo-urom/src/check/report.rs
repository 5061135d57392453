//! The findings of `check`, as text and as JSON.

use std::path::{Path, PathBuf};
use urom_message::plain;

use anstyle::{AnsiColor, Style};
use serde::Serialize;
use urom_abi::Quantity;

use crate::elf::ElfMachine;
use crate::output::say;

/// A file and its findings. The fields are the JSON: fields may be added, but not removed.
#[derive(Debug, Default, Serialize)]
pub(crate) struct CheckReport {
    pub(super) file: PathBuf,
    pub(super) plugin: String,
    pub(super) machine: Option<ElfMachine>,
    /// Result of `urom_plugin_get_version`, if it was called.
    pub(super) version: Option<u64>,
    pub(super) doca: Option<String>,
    /// The oldest glibc that satisfies the file.
    pub(super) glibc: Option<String>,
    pub(super) needed: Vec<String>,
    errors: usize,
    warnings: usize,
    findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Severity {
    /// A service refuses the file, or hosts cannot use it.
    Error,
    /// The file works here, but may fail elsewhere, or sometimes.
    Warning,
    Note,
}

#[derive(Debug, Serialize)]
struct Finding {
    severity: Severity,
    /// Identifies the finding for scripts.
    code: &'static str,
    /// A sentence without capital and full stop.
    text: String,
    remedy: String,
}

impl CheckReport {
    pub(super) fn new(file: &Path) -> CheckReport {
        let plugin = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        CheckReport { file: file.to_owned(), plugin, ..CheckReport::default() }
    }

    pub(super) fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        text: String,
        remedy: String,
    ) {
        match severity {
            Severity::Error => self.errors += 1,
            Severity::Warning => self.warnings += 1,
            Severity::Note => {}
        }
        self.findings.push(Finding { severity, code, text, remedy });
    }

    pub(crate) fn is_bad(&self) -> bool {
        self.errors > 0
    }

    pub(crate) fn print_findings(&self) {
        self.findings.iter().for_each(|finding| say(&finding.line()));
    }

    pub(super) fn text(&self) -> String {
        let file = plain(&self.file.to_string_lossy());
        let findings: String = self.findings.iter().map(|finding| finding.line() + "\n").collect();
        let verdict = match self.is_bad() {
            true => "not fit for a service".to_owned(),
            false => format!("fit for a service, as the plugin `{}`", plain(&self.plugin)),
        };
        let (errors, warnings) =
            (Quantity(self.errors, "error"), Quantity(self.warnings, "warning"));
        let facts = plain(&self.facts());
        format!("{file}: {facts}\n{findings}{verdict}: {errors}, {warnings}\n")
    }

    fn facts(&self) -> String {
        let mut facts = Vec::new();
        if let Some(machine) = self.machine {
            let here = if ElfMachine::ours() == Some(machine) { "" } else { "not " };
            let bluefield = if machine == ElfMachine::Aarch64 { ", a BlueField" } else { "" };
            facts.push(format!("for {} ({here}this machine{bluefield})", machine.name()));
        }
        facts.extend(self.version.map(|version| format!("version {version}")));
        facts.extend(self.doca.as_ref().map(|word| format!("interface of DOCA {word}")));
        facts.extend(self.glibc.as_ref().map(|glibc| format!("needs glibc {glibc}")));
        if !self.needed.is_empty() {
            facts.push(format!("libraries {}", self.needed.join(" ")));
        }
        facts.join(", ")
    }
}

impl Finding {
    fn line(&self) -> String {
        let (style, word) = match self.severity {
            Severity::Error => (AnsiColor::Red.on_default().bold(), "error"),
            Severity::Warning => (AnsiColor::Yellow.on_default().bold(), "warning"),
            Severity::Note => (Style::new().bold(), "note"),
        };
        let remedy = match &*self.remedy {
            "" => String::new(),
            remedy => format!("\n  -> {}", plain(remedy)),
        };
        format!("{style}{word}{style:#}: {}{remedy}", plain(&self.text))
    }
}
