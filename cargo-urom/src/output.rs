//! Output: results to standard output, other messages to standard error, colours only on terminals.

use std::fs::File;
use std::io::Write;
use std::sync::OnceLock;

use anstream::AutoStream;
use anstyle::{AnsiColor, Style};
use anyhow::Context;
use urom_message::{acts, plain};

const GREEN: Style = AnsiColor::Green.on_default().bold();
const CYAN: Style = AnsiColor::Cyan.on_default().bold();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default().bold();

static OWN: OnceLock<File> = OnceLock::new();

/// Reserves standard output for [`result`] and [`json`], because UCX and plugins also write to it.
pub(crate) fn own_stdout() {
    // Fails if standard output is closed.
    if let Ok(out) = urom_service::take_stdout() {
        let _ = OWN.set(out);
    }
}

pub(crate) fn progress(what: &str, with: &str) {
    say(&format!("{GREEN}{what:>12}{GREEN:#} {with}"));
}

pub(crate) fn note(what: &str) {
    say(&format!("{CYAN}note{CYAN:#}: {}", plain(what)));
}

/// Prints whole lines to standard output. If it is closed, see [`is_closed`].
pub(crate) fn result(text: &str) -> anyhow::Result<()> {
    let write = |out: &mut dyn Write| out.write_all(text.as_bytes()).and_then(|()| out.flush());
    let written = match OWN.get() {
        Some(own) => own.try_clone().and_then(|own| write(&mut AutoStream::auto(own))),
        None => write(&mut anstream::stdout()),
    };
    written.context("cannot write to standard output")
}

pub(crate) fn json(value: &impl serde::Serialize) -> anyhow::Result<()> {
    let text = serde_json::to_string_pretty(value)?;
    // Only JSON strings can contain control characters. Escapes are equivalent.
    let escape = |c: char| match acts(c) && c != '\n' {
        true => format!("\\u{:04x}", u32::from(c)),
        false => c.to_string(),
    };
    result(&(text.chars().map(escape).collect::<String>() + "\n"))
}

/// Prints an error with all causes. The text may have several lines.
pub(crate) fn error(error: &anyhow::Error) {
    let text = format!("{error:#}");
    let lines: Vec<_> = text.split('\n').map(plain).collect();
    say(&format!("{RED}error{RED:#}: {}", lines.join("\n")));
}

pub(crate) fn warning(text: &str) {
    say(&format!("{YELLOW}warning{YELLOW:#}: {}", plain(text)));
}

pub(crate) fn say(line: &str) {
    let _ = anstream::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Whether the reader has closed standard output, as `head` does.
pub(crate) fn is_closed(error: &anyhow::Error) -> bool {
    let io = error.downcast_ref::<std::io::Error>();
    io.is_some_and(|error| error.kind() == std::io::ErrorKind::BrokenPipe)
}
