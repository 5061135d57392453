//! What goes to the terminal: results to standard output, everything else to standard error, colours only on a terminal.

use anstream::{eprintln, println};
use anstyle::{AnsiColor, Style};

/// Like cargo's own headlines.
const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

/// A line on standard error, as cargo writes them: what is being done, and with what.
pub(crate) fn progress(what: &str, with: &str) {
    eprintln!("{GREEN}{what:>12}{GREEN:#} {with}");
}

/// Something to know that keeps nothing from being done.
pub(crate) fn note(what: &str) {
    eprintln!("{CYAN}note{CYAN:#}: {what}");
}

/// A result for scripts, on standard output.
pub(crate) fn json(value: &serde_json::Value) -> anyhow::Result<()> {
    println!("{}", serde_json::to_string_pretty(value)?);
    Ok(())
}

/// What kept the verb from doing what it is for, with all causes.
pub(crate) fn error(error: &anyhow::Error) {
    eprintln!("{RED}error{RED:#}: {error:#}");
}

/// What the verb does without.
pub(crate) fn warning(text: &str) {
    eprintln!("{YELLOW}warning{YELLOW:#}: {text}");
}
