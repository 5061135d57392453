//! What the service's examiner says of a file, as findings: it loads the plugin in a process of its own.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result};
use urom_abi::version;
use urom_service::examine::{Examined, Trouble, examine, this_program};
use urom_service::plugin_file::PluginFileError;

use super::finding::Finding;
use crate::UROMD;

/// Examines a file, as a service does.
///
/// # Errors
/// There can be no such process.
pub(super) fn probe(file: &Path, limit: Duration) -> Result<Examined> {
    examine(this_program(&[UROMD.into()]), file, limit)
        .context("cannot start a process to try the plugin in")
}

/// What is wrong with what a plugin answered.
pub(super) fn findings(examined: &Examined) -> Vec<Finding> {
    let mut findings = Vec::new();
    let oldest = version::exact(2, 7, 0) as u64;
    match examined.api_version {
        Some(0) => findings.push(Finding::NoWord),
        Some(word) if word < oldest => findings.push(Finding::OldWord(word)),
        _ => {}
    }
    if !examined.missing.is_empty() {
        findings.push(Finding::NoMethods(examined.missing.clone()));
    }
    findings.extend(examined.trouble.as_ref().map(|trouble| match trouble {
        Trouble::Hang { stage, limit } => Finding::Hang { stage: *stage, seconds: limit.as_secs() },
        Trouble::Crash { stage, how, said } => {
            Finding::Crash { stage: *stage, how: how.clone(), said: said.clone() }
        }
        Trouble::Refused(PluginFileError::Load(text)) => Finding::Load(text.clone()),
        Trouble::Refused(PluginFileError::Symbol(name)) => Finding::NoSymbol(name),
        Trouble::Refused(PluginFileError::Failed { symbol, code }) => {
            Finding::Failed { symbol, code: code.to_string() }
        }
        Trouble::Refused(other) => Finding::Load(other.to_string()),
    }));
    findings
}
