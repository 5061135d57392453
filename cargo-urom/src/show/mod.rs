//! `cargo urom show`: lists a recording that `uromd --record` wrote.

mod plugin;

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;
use urom_message::{plain, unknown};

use anyhow::{Context, Result, ensure};
use urom_abi::{DocaError, DocaStatus, WorkerId};
use urom_recording::{Entry, RecordedId, RecordingReader};

use crate::exit::{self, usage};
use crate::output;

pub(crate) use plugin::ShownPlugin;

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct ShowArgs {
    /// The recording.
    #[arg(value_name = "FILE.urec")]
    file: PathBuf,
    /// Shows only commands of this plugin.
    #[arg(long, value_name = "NAME")]
    plugin: Option<String>,
    /// Shows only this command, such as `TagSend`; of a plugin in C, its number.
    #[arg(long, value_name = "NAME")]
    command: Option<String>,
    /// Shows only commands that failed.
    #[arg(long)]
    failed: bool,
}

pub(crate) fn run(args: &ShowArgs) -> Result<u8> {
    let shown = args.file.display();
    let mut reader =
        RecordingReader::open(&args.file).with_context(|| format!("showing {shown}"))?;
    let header = reader.header().clone();
    let plugins: Vec<_> = header.plugins.iter().map(ShownPlugin::new).collect();
    let mut text = format!(
        "worker {} (group {}) of uromd {}, from {}\n",
        WorkerId(header.worker),
        header.group,
        plain(&header.service),
        time(header.started)
    );
    for plugin in &header.plugins {
        _ = writeln!(text, "plugin {} version {}", plain(&plugin.name), plugin.version);
    }
    output::result(&text)?;
    if let Some(name) = &args.plugin {
        let is_there = header.plugins.iter().any(|plugin| plugin.name == *name);
        ensure!(is_there, "{shown} has no plugin `{name}`: it has those listed above");
    }
    if let Some(name) = &args.command {
        known(name, &plugins)?;
    }
    let mut list = List { args, plugins, pending: HashMap::new() };
    while let Some(entry) = reader.entry().with_context(|| format!("showing {shown}"))? {
        if let Some(line) = list.line(&entry) {
            output::result(&line)?;
        }
    }
    if reader.is_cut() {
        output::note("the last entry is incomplete: the worker crashed, or still runs");
    }
    Ok(exit::DONE)
}

/// Refuses a command that no described plugin has. Of a plugin in C, any number may be one.
fn known(name: &str, plugins: &[ShownPlugin]) -> Result<()> {
    let described: Option<Vec<_>> = plugins.iter().map(|plugin| plugin.protocol).collect();
    let Some(described) = described.filter(|all| !all.is_empty()) else { return Ok(()) };
    let variants = described.iter().flat_map(|protocol| protocol.commands.variants);
    let names: Vec<_> = variants.map(|variant| variant.name).collect();
    let is_known = names.contains(&name);
    ensure!(is_known, usage(unknown("--command: no plugin has", name, names.into_iter())));
    Ok(())
}

struct List<'a> {
    args: &'a ShowArgs,
    plugins: Vec<ShownPlugin>,
    pending: HashMap<RecordedId, PendingCommand>,
}

struct PendingCommand {
    at: u64,
    /// Index of its plugin.
    plugin: usize,
    name: String,
    /// Its line, while it is not known whether the command fails.
    line: Option<String>,
}

impl List<'_> {
    /// Returns the lines of an entry, if it is selected.
    fn line(&mut self, entry: &Entry<'_>) -> Option<String> {
        let ShowArgs { plugin, command, failed, .. } = self.args;
        let is_all = plugin.is_none() && command.is_none() && !failed;
        let at = seconds(entry.at());
        match entry {
            Entry::Command { at: received, id, plugin: of, bytes } => {
                let index = self.plugins.iter().position(|known| known.id == *of)?;
                let found = &self.plugins[index];
                let (name, fields) = found.message(bytes, true);
                if plugin.as_ref().is_some_and(|plugin| *plugin != found.name)
                    || command.as_ref().is_some_and(|command| *command != name)
                {
                    return None;
                }
                let line = format!("{at}  host {}  {} {name}  {fields}\n", id.host, found.name);
                let (now, later) = if *failed { (None, Some(line)) } else { (Some(line), None) };
                let pending = PendingCommand { at: *received, plugin: index, name, line: later };
                self.pending.insert(*id, pending);
                now
            }
            Entry::Answer { at: answered, id, status, payload, text } => {
                let PendingCommand { at: received, plugin, name, line } =
                    self.pending.remove(id)?;
                let took = Duration::from_nanos(answered.saturating_sub(received));
                let plugin = &self.plugins[plugin];
                let head = format!("{at}  host {}  {} {name}", id.host, plugin.name);
                let answer = match DocaStatus(*status).check() {
                    Ok(()) if *failed => return None,
                    Ok(()) => {
                        let payload = payload.as_deref().unwrap_or_default();
                        let (name, fields) = plugin.message(payload, false);
                        format!("{head}  after {took:.1?}: {name}  {fields}\n")
                    }
                    Err(code) => format!("{head}  failed after {took:.1?}: {}\n", why(code, text)),
                };
                Some(line.unwrap_or_default() + &answer)
            }
            Entry::Cancel { id, is_late, .. } => {
                let pending = self.pending.get_mut(id)?;
                let plugin = &self.plugins[pending.plugin].name;
                let what = if *is_late { "timed out" } else { "was cancelled" };
                let line = format!("{at}  host {}  {plugin} {}  {what}\n", id.host, pending.name);
                match &mut pending.line {
                    Some(before) => {
                        before.push_str(&line);
                        None
                    }
                    None => Some(line),
                }
            }
            Entry::HostLeft { host, .. } => {
                self.pending.retain(|id, _| id.host != *host);
                is_all.then(|| format!("{at}  host {host}  left\n"))
            }
            Entry::Lost { count, .. } => {
                Some(format!("{at}  {count} entries are missing: the disk was too slow\n"))
            }
            _ => None,
        }
    }
}

fn why(code: DocaError, text: &str) -> String {
    match text {
        "" => code.name().to_owned(),
        text => format!("{}: {}", code.name(), plain(text)),
    }
}

pub(crate) fn seconds(nanoseconds: u64) -> String {
    format!("{:5}.{:06} s", nanoseconds / 1_000_000_000, nanoseconds / 1000 % 1_000_000)
}

/// The time of a start, in the format of the service's log.
fn time(nanoseconds: u64) -> String {
    let time = std::time::UNIX_EPOCH + Duration::from_nanos(nanoseconds);
    humantime::format_rfc3339_micros(time).to_string()
}

#[cfg(test)]
mod tests;
