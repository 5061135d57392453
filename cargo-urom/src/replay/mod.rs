//! `cargo urom replay`: sends recorded commands to a plugin, and compares the answers.

mod hosts;
mod report;
mod service;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use urom_abi::DocaStatus;
use urom_abi::describe::Protocol;
use urom_host::{RawCompletion, RawReply, block_on_for};
use urom_message::{AnswerRef, answer_difference, plain, quoted};
use urom_recording::{RecordedPlugin, RecordingReader, Step, Steps};

use crate::description::InspectedFile;
use crate::exit::usage;
use crate::show::ShownPlugin;
use hosts::RecordedHosts;
use report::{RecordedCommand, Report};

/// How often a replay looks for the end of its worker while it waits.
const LOOK: Duration = Duration::from_millis(100);

#[derive(Debug, clap::Args)]
#[command(after_help = include_str!("help.txt"))]
pub(crate) struct ReplayArgs {
    /// The recording.
    #[arg(value_name = "FILE.urec")]
    file: PathBuf,
    /// The plugin.
    #[arg(value_name = "FILE.so")]
    plugin: PathBuf,
    /// Sends commands at their recorded times, divided by N. By default only their order counts.
    #[arg(long, value_name = "N", value_parser = speed)]
    speed: Option<f64>,
    /// A field or payload of answers that may differ; repeatable.
    #[arg(long, value_name = "FIELD")]
    ignore: Vec<String>,
    /// Timeout for an answer, in seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 10,
        value_parser = clap::value_parser!(u64).range(1..=86_400))]
    timeout: u64,
}

fn speed(text: &str) -> Result<f64, &'static str> {
    let speed = text.parse().ok().filter(|speed: &f64| speed.is_finite() && *speed > 0.0);
    speed.ok_or("expected a number above 0, such as 1, 0.5 or 10")
}

pub(crate) fn run(args: &ReplayArgs) -> Result<u8> {
    let shown = args.file.display().to_string();
    let of_file = || format!("replaying {shown}");
    let plugin = InspectedFile::look(&args.plugin)?;
    let name = plugin.plugin_name().map_err(|why| {
        anyhow::anyhow!("no service takes {}: {why}; rename it to NAME.so", args.plugin.display())
    })?;
    let open = || RecordingReader::open(&args.file).with_context(of_file);
    let header = open()?.header().clone();
    let Some(recorded) = header.plugins.iter().find(|plugin| plugin.name == name) else {
        let names: Vec<_> = header.plugins.iter().map(|plugin| plain(&plugin.name)).collect();
        bail!(
            "{shown} has no commands of plugin `{name}`, whose name its file has; recorded: {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        );
    };
    let shown_plugin = ShownPlugin::new(recorded);
    compatible(&shown_plugin, recorded, &plugin).with_context(of_file)?;
    known(&args.ignore, shown_plugin.protocol)?;
    let extent = Steps::new(open()?, recorded.id).extent().with_context(of_file)?;
    ensure!(extent.commands > 0, "{shown} has no commands of plugin `{name}`");
    let (daemon, service) = service::start(Path::new(&args.plugin), extent.longest)?;
    let hosts = RecordedHosts::start(&service, &name, header.worker, &extent)?;
    let mut replay = Replay {
        args,
        protocol: shown_plugin.protocol,
        late: &extent.late,
        hosts,
        sent: BTreeMap::new(),
        began: Instant::now(),
        report: Report::new(shown_plugin),
    };
    let mut steps = Steps::new(open()?, recorded.id);
    while let Some(step) = steps.step().with_context(of_file)? {
        replay.step(step)?;
    }
    replay.rest()?;
    let Replay { hosts, report, began, .. } = replay;
    hosts.stop(Duration::from_secs(args.timeout));
    drop(service);
    daemon.stop();
    report.end(&extent, began.elapsed())
}

/// Refuses fields that no answer of a described plugin has.
fn known(ignored: &[String], protocol: Option<&Protocol>) -> Result<()> {
    let Some(Protocol { notifications, .. }) = protocol else { return Ok(()) };
    let fields = notifications.variants.iter().flat_map(|variant| {
        let payloads = variant.payloads.iter().map(|payload| payload.name);
        variant.fields.iter().map(|field| field.name).chain(payloads)
    });
    let names: BTreeSet<_> =
        fields.chain(notifications.header.iter().map(|field| field.name)).collect();
    match ignored.iter().find(|name| !names.contains(&***name)) {
        Some(name) => {
            Err(usage(format!("--ignore: no answer has `{name}`, only {}", quoted(names))))
        }
        None => Ok(()),
    }
}

/// Refuses a plugin whose messages differ from the recorded ones.
fn compatible(recorded: &ShownPlugin, plugin: &RecordedPlugin, file: &InspectedFile) -> Result<()> {
    let Some(description) = file.description else { return Ok(()) };
    let Protocol { version, name, .. } = *description.protocol;
    let path = file.path.display();
    ensure!(plugin.name == name, "{path} is {name} by its description, not {}", plugin.name);
    ensure!(
        plugin.version == version,
        "it has version {} of {name}, and {path} is version {version}: build the recorded version",
        plugin.version
    );
    let difference = recorded.protocol.and_then(|it| it.difference(description.protocol));
    match difference {
        Some(difference) => bail!("{path} has other messages: {difference}"),
        None => Ok(()),
    }
}

struct Replay<'a> {
    args: &'a ReplayArgs,
    protocol: Option<&'static Protocol>,
    late: &'a BTreeMap<u64, u64>,
    hosts: RecordedHosts<'a>,
    sent: BTreeMap<u64, SentCommand>,
    began: Instant,
    report: Report,
}

struct SentCommand {
    command: RecordedCommand,
    completion: RawCompletion,
    is_cancelled: bool,
}

impl Replay<'_> {
    fn step(&mut self, step: Step) -> Result<()> {
        match step {
            Step::Memory { memory, offset, bytes } => self.hosts.fill(memory, offset, &bytes),
            Step::Command { at, number, host, bytes } => {
                self.pace(at);
                self.send(RecordedCommand { number, at, host, bytes })
            }
            Step::Answer { number, status, payload, text, .. } => {
                let status = DocaStatus(status);
                let recorded = AnswerRef { status, payload: payload.as_deref(), text: &text };
                self.compare(number, recorded)
            }
            Step::Cancel { at, number, is_late } => {
                self.pace(at);
                if let Some(sent) = self.sent.get_mut(&number) {
                    sent.is_cancelled = true;
                    if !is_late {
                        sent.completion.cancel();
                    }
                }
                Ok(())
            }
            Step::HostLeft { at, host } => {
                self.pace(at);
                self.sent.retain(|_, sent| sent.command.host != host);
                self.hosts.leave(host);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Waits for the recorded time, if the recording's pace counts.
    fn pace(&self, at: u64) {
        let Some(speed) = self.args.speed else { return };
        let due = Duration::from_nanos((at as f64 / speed) as u64);
        let left = || due.saturating_sub(self.began.elapsed());
        // Makes progress meanwhile. A signal ends the worker.
        while !left().is_zero() && self.hosts.lost().is_none() {
            let _ = block_on_for(left().min(LOOK), std::future::pending::<()>());
        }
    }

    fn send(&mut self, command: RecordedCommand) -> Result<()> {
        let commands = self.protocol.map(|protocol| &protocol.commands);
        let Some(bytes) = self.hosts.with_memory(commands, &command) else {
            self.report.skipped += 1;
            return Ok(());
        };
        let limit = self.late.get(&command.number).copied().map(Duration::from_nanos);
        let sent = self.hosts.submit(command.host, &bytes, limit);
        let completion = sent.with_context(|| self.report.title(&command))?;
        let (number, is_cancelled) = (command.number, false);
        self.sent.insert(number, SentCommand { command, completion, is_cancelled });
        Ok(())
    }

    /// Waits for the commands whose answers the recording lacks: one may have crashed the worker.
    fn rest(&mut self) -> Result<()> {
        let end = Instant::now() + Duration::from_secs(self.args.timeout);
        for SentCommand { command, completion, .. } in std::mem::take(&mut self.sent).into_values()
        {
            // The recorded worker may not have answered either.
            let left = end.saturating_duration_since(Instant::now());
            let answered = block_on_for(left, completion);
            if let Some(failure) = self.hosts.failure(command.host) {
                bail!("{}, whose answer is not recorded: {failure}", self.report.title(&command));
            }
            self.report.unrecorded += u64::from(answered.is_ok());
        }
        match self.hosts.lost() {
            Some(failure) => bail!("the worker ended after the last command: {failure}"),
            None => Ok(()),
        }
    }

    fn compare(&mut self, number: u64, recorded: AnswerRef<'_>) -> Result<()> {
        let Some(SentCommand { command, completion, is_cancelled }) = self.sent.remove(&number)
        else {
            return Ok(());
        };
        let limit = Duration::from_secs(self.args.timeout);
        let limit = limit + Duration::from_nanos(self.late.get(&number).copied().unwrap_or(0));
        let reply = block_on_for(limit, completion).with_context(|| {
            let title = self.report.title(&command);
            format!("{title}: no answer, but one is recorded; --timeout waits longer")
        })?;
        if let Some(failure) = self.hosts.failure(command.host) {
            bail!("{}: {failure}", self.report.title(&command));
        }
        if is_cancelled {
            self.report.cancelled += 1;
            return Ok(());
        }
        self.report.compared += 1;
        let RawReply { status, bytes, why } = &reply;
        let replayed = AnswerRef { status: *status, payload: bytes.as_deref(), text: why };
        let messages = self.protocol.map(|protocol| &protocol.notifications);
        match answer_difference(messages, recorded, replayed, &self.args.ignore) {
            Some(text) => self.report.difference(&command, recorded, replayed, &text),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_speed_is_a_number_above_zero() {
        assert_eq!([speed("1"), speed("0.5"), speed("1e3")], [Ok(1.0), Ok(0.5), Ok(1000.0)]);
        for text in ["0", "-1", "inf", "nan", "", "fast"] {
            assert!(speed(text).is_err(), "{text}");
        }
    }
}
