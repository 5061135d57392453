//! The output of a replay.

use std::fmt::Write as _;
use std::time::Duration;

use anyhow::Result;
use urom_abi::Quantity;
use urom_message::{AnswerRef, plain};
use urom_recording::RecordingExtent;

use crate::show::{ShownPlugin, seconds};
use crate::{exit, output};

pub(super) struct RecordedCommand {
    pub(super) number: u64,
    pub(super) at: u64,
    pub(super) host: u64,
    pub(super) bytes: Vec<u8>,
}

pub(super) struct Report {
    plugin: ShownPlugin,
    pub(super) compared: u64,
    pub(super) cancelled: u64,
    pub(super) skipped: u64,
    /// Answers that the recording lacks.
    pub(super) unrecorded: u64,
    differing: u64,
}

impl Report {
    pub(super) fn new(plugin: ShownPlugin) -> Report {
        Report { plugin, compared: 0, cancelled: 0, skipped: 0, unrecorded: 0, differing: 0 }
    }

    pub(super) fn title(&self, command: &RecordedCommand) -> String {
        let RecordedCommand { number, host, bytes, .. } = command;
        let (name, _) = self.plugin.message(bytes, true);
        format!("command {number} ({name}) of host {host}")
    }

    /// Prints the first difference with all fields, each further one in a line.
    pub(super) fn difference(
        &mut self,
        command: &RecordedCommand,
        recorded: AnswerRef<'_>,
        replayed: AnswerRef<'_>,
        text: &str,
    ) -> Result<()> {
        self.differing += 1;
        let mut lines = format!("{}: {}\n", self.title(command), plain(text));
        if self.differing == 1 {
            let (name, fields) = self.plugin.message(&command.bytes, true);
            _ = writeln!(lines, "  sent      {name}  {fields}");
            _ = writeln!(lines, "  at       {}", seconds(command.at));
            _ = writeln!(lines, "  recorded  {}", self.answer(recorded));
            _ = writeln!(lines, "  replayed  {}", self.answer(replayed));
        }
        output::result(&lines)
    }

    fn answer(&self, answer: AnswerRef<'_>) -> String {
        match answer.status.check() {
            Ok(()) => {
                let payload = answer.payload.unwrap_or_default();
                let (name, fields) = self.plugin.message(payload, false);
                format!("{name}  {fields}")
            }
            Err(code) => format!("{}  {}", code.name(), plain(answer.text)),
        }
    }

    /// Prints the sums, and returns the exit code.
    pub(super) fn end(self, extent: &RecordingExtent, took: Duration) -> Result<u8> {
        let Report { plugin, compared, cancelled, skipped, unrecorded, differing } = self;
        let mut text = format!(
            "{}: {} in {took:.1?}, {} compared, {differing} differ\n",
            plugin.name,
            Quantity(extent.commands as usize, "command"),
            Quantity(compared as usize, "answer")
        );
        if cancelled > 0 {
            let cancelled = Quantity(cancelled as usize, "cancelled command");
            _ = writeln!(text, "not compared: answers of {cancelled}");
        }
        if unrecorded > 0 {
            _ = writeln!(text, "not recorded: {}", Quantity(unrecorded as usize, "answer"));
        }
        if skipped > 0 {
            let skipped = Quantity(skipped as usize, "command");
            _ = writeln!(
                text,
                "not sent: {skipped} with memory that the recording lacks (uromd --record-memory)"
            );
        }
        if extent.lost > 0 {
            _ = writeln!(text, "entries that the disk did not take: {}", extent.lost);
        }
        output::result(&text)?;
        if extent.is_cut {
            output::note("the last entry is incomplete: the worker crashed, or still runs");
        }
        Ok(if differing > 0 { exit::FAILED } else { exit::DONE })
    }
}
