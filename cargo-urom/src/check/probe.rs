//! Loads a plugin and calls its two functions as a service does, in a separate process.

use std::path::Path;
use std::time::Duration;
use urom_message::quoted;

use anyhow::{Context, Result};
use urom_abi::{DocaError, version};
use urom_service::plugins::{PluginFileError, Stage, Trouble, examine, this_program};

use super::file::declaration;
use super::report::CheckReport;
use crate::UROMD;

pub(super) fn probe(report: &mut CheckReport, file: &Path, limit: Duration) -> Result<()> {
    let examined = this_program(&[UROMD.into()])
        .and_then(|program| examine(program, file, limit))
        .context("cannot start a process to try the plugin in")?;
    report.version = examined.version;
    if let Some(word) = examined.api_version {
        let name = usize::try_from(word).map_or_else(|_| word.to_string(), version::display);
        if word == 0 {
            report.no_version_word(version::RELEASE);
        } else if word < version::exact(2, 7, 0) as u64 {
            report.old_version_word(&name, version::RELEASE);
        }
        report.doca = Some(name);
    }
    if !examined.missing.is_empty() {
        report.no_methods(quoted(&examined.missing));
    }
    match examined.trouble {
        None => {}
        Some(Trouble::Hang { stage: stage @ Stage::Exit, limit }) => {
            report.hang_at_exit(stage, limit.as_secs())
        }
        Some(Trouble::Hang { stage, limit }) => report.hang(stage, limit.as_secs()),
        Some(Trouble::Crash { stage, how, said }) => {
            let said = said.map_or_else(String::new, |said| format!("; it wrote: {said}"));
            match stage {
                Stage::Exit => report.crash_at_exit(stage, how + &said),
                _ => report.crash(stage, how + &said),
            }
        }
        Some(Trouble::Refused(PluginFileError::Symbol(name))) => {
            report.no_symbol(&name, declaration(&name))
        }
        Some(Trouble::Refused(PluginFileError::Failed { symbol, code })) => {
            report.failed(&symbol, DocaError::from_code(code))
        }
        Some(Trouble::Refused(PluginFileError::Load(text))) => {
            report.load(&text, load_remedy(&text))
        }
        Some(Trouble::Refused(other)) => report.load(&other, load_remedy("")),
    }
    Ok(())
}

/// Returns the remedy for a loader error; empty if the error is clear.
fn load_remedy(text: &str) -> &'static str {
    let has = |part| text.contains(part);
    let is_absent = has("cannot open shared object file") && has("No such file");
    if is_absent && has("libdoca_") {
        "install that library, or add its directory to LD_LIBRARY_PATH: that of DOCA, or `lib` of \
         the prefix that `cargo xtask install` made"
    } else if is_absent {
        "install that library, or add its directory to LD_LIBRARY_PATH"
    } else if has("undefined symbol") {
        "link it with the library that has this symbol (`cc -Wl,--no-undefined` says so while \
         linking)"
    } else if has("version `GLIBC") {
        "build it on a machine whose glibc is no newer than here"
    } else if has("static TLS") {
        "build the named library without `-ftls-model=initial-exec`"
    } else if ["too short", "ELF", "cannot read"].into_iter().any(has) {
        "copy or build the named file again: it may have been cut while it was copied"
    } else {
        ""
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_is_to_be_installed_only_where_it_is_not_there() {
        let opened = "libgone.so.1: cannot open shared object file: ";
        for (why, remedy) in [
            ("No such file or directory", "install that library"),
            ("Too many open files", ""),
            ("Permission denied", ""),
        ] {
            let said = load_remedy(&format!("{opened}{why}"));
            assert_eq!(said.is_empty(), remedy.is_empty(), "{why}: {said}");
            assert!(said.starts_with(remedy), "{why}: {said}");
        }
        assert!(load_remedy("p.so: file too short").contains("cut"));
        assert_eq!(load_remedy("p.so: failed to map segment from shared object"), "");
    }
}
