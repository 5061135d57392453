//! `cargo urom trace`: runs a host program and writes its sampled commands to a file.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::num::NonZeroU32;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};
use urom_abi::Quantity;

use crate::exit::usage;
use crate::output;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct TraceArgs {
    /// The file, which is replaced.
    #[arg(long, value_name = "FILE", default_value = "urom-trace.json")]
    out: PathBuf,
    /// Samples one command in N, or one trace in N of a program with its own spans.
    #[arg(long, value_name = "1/N", default_value = "1/1", value_parser = every)]
    sample: NonZeroU32,
    /// The host program and its arguments.
    #[arg(
        required = true,
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "PROGRAM"
    )]
    words: Vec<OsString>,
}

fn every(text: &str) -> Result<NonZeroU32, &'static str> {
    let number = text.strip_prefix("1/").unwrap_or(text);
    number.parse().map_err(|_| "expected 1/N with N from 1 on")
}

pub(crate) fn run(args: &TraceArgs) -> Result<u8> {
    let shown = args.out.display();
    let [program, words @ ..] = &args.words[..] else { return Err(usage("name a program")) };
    // The program may change its directory.
    let file = std::path::absolute(&args.out)?;
    std::fs::write(&file, "[\n").with_context(|| format!("cannot write {shown}"))?;
    let mut command = Command::new(program);
    command.args(words).env("UROM_TRACE", &file).env("UROM_TRACE_SAMPLE", args.sample.to_string());
    let status = command.status().with_context(|| format!("cannot run {}", program.display()))?;
    match count(&file).with_context(|| format!("cannot read {shown}"))? {
        0 => output::warning(
            "the program sent no sampled command: it must use this kit's library and service, \
             both of a release with traces, and `--sample` must not be larger than their number",
        ),
        count => {
            let commands = Quantity(count, "command");
            output::progress("Traced", &format!("{commands} in {shown}, for ui.perfetto.dev"));
        }
    }
    if let Some(signal) = status.signal() {
        output::warning(&format!(
            "signal {signal} ended the program: the last lines may be missing"
        ));
    }
    // As shells number signals.
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap_or(1);
    Ok(code as u8)
}

/// Counts the commands of a file: only their lines have a status.
fn count(file: &Path) -> std::io::Result<usize> {
    let lines = BufReader::new(File::open(file)?).split(b'\n');
    lines.map(|line| Ok(usize::from(line?.windows(9).any(|part| part == b"\"status\":")))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_is_one_in_a_positive_number() {
        for (text, number) in [("1/1", 1), ("1/100", 100), ("7", 7)] {
            assert_eq!(every(text).unwrap().get(), number);
        }
        for text in ["0", "1/0", "2/3", "1/", "", "-1", "1/1.5", "1/99999999999"] {
            assert!(every(text).is_err(), "{text}");
        }
    }
}
