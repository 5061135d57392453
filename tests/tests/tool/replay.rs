//! `cargo urom show` and `cargo urom replay`, with recordings of real services.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use rustix::process::Signal;
use tempfile::TempDir;
use urom_abi::protocol::Request;
use urom_host::{DocaError, Service};
use urom_recording::{Entry, RecordingReader, RecordingWriter};

use crate::common::{rust, says, tool};
use crate::run::Running;

/// A recording of one worker.
struct Recorded {
    directory: TempDir,
    plugin: String,
    file: PathBuf,
}

impl Recorded {
    /// Records the commands that `hosts` sends to the service of an address.
    fn of(
        plugin: &str,
        options: &[&str],
        hosts: impl FnOnce(&str, &str) -> Result<()>,
    ) -> Result<Recorded> {
        let (directory, plugin) = (tempfile::tempdir()?, rust(plugin)?);
        let path = directory.path().to_str().context("a path in UTF-8")?;
        let words = [&["run", &plugin, "--record", path], options].concat();
        let service = Running::start(&mut tool(words)?)?;
        hosts(&plugin, &service.address)?;
        service.end(Signal::TERM)?;
        let files = fs::read_dir(path)?.collect::<Result<Vec<_>, _>>()?;
        ensure!(files.len() == 1, "one worker has one recording: {files:?}");
        Ok(Recorded { file: files[0].path(), directory, plugin })
    }

    /// Records commands in the notation of `cargo urom call`.
    fn calls(plugin: &str, options: &[&str], commands: &[&str]) -> Result<Recorded> {
        Recorded::of(plugin, options, |plugin, address| {
            let words = ["call", plugin, "--service", address];
            // Some commands fail.
            tool(words.iter().chain(commands))?.output()?;
            Ok(())
        })
    }

    fn replayed(&self, words: &[&str]) -> Result<(Option<i32>, String)> {
        self.replayed_to(&self.plugin, words)
    }

    fn replayed_to(&self, plugin: &str, words: &[&str]) -> Result<(Option<i32>, String)> {
        let mut replay = tool(["replay"])?;
        let output = replay.arg(&self.file).arg(plugin).args(words).output()?;
        let text = String::from_utf8([output.stdout, output.stderr].concat())?;
        Ok((output.status.code(), text))
    }

    /// Returns the recording with its entries changed.
    fn with(self, change: impl Fn(&mut Entry<'static>)) -> Result<Recorded> {
        let mut reader = RecordingReader::open(&self.file)?;
        let file = self.directory.path().join("changed.urec");
        let header = reader.header().clone();
        let mut writer = RecordingWriter::new(File::create(&file)?, &header, u64::MAX)?;
        while let Some(entry) = reader.entry()? {
            let mut entry = entry.into_owned();
            change(&mut entry);
            ensure!(writer.write(&entry)?);
        }
        writer.flush()?;
        Ok(Recorded { file, ..self })
    }
}

fn assert_same(recorded: &Recorded, words: &[&str], sums: &str) -> Result<()> {
    let (code, text) = recorded.replayed(words)?;
    assert!(code == Some(0) && text.contains(sums), "{code:?}: {text}");
    Ok(())
}

#[test]
fn the_plugins_answer_a_recording_as_they_answered_its_hosts() -> Result<()> {
    let loopbacks = ["loopback", "data=1", "+", "loopback", "data=2", "+", "loopback", "data=3"];
    let graph = Recorded::calls("worker_graph", &[], &loopbacks)?;
    assert_same(&graph, &[], "worker_graph: 3 commands in ")?;
    assert_same(&graph, &["--speed", "0.5"], ", 3 answers compared, 0 differ\n")?;

    let map = "map_params={field_mask=7,address=4096,length=4096,flags=2}";
    let send = "+ tag_send dest=3 tag=7 data=hello".split(' ');
    let commands: Vec<_> = ["mem_map", map].into_iter().chain(send).collect();
    let sandbox = Recorded::calls("worker_sandbox", &[], &commands)?;
    // Worker 3 is not in a domain: the failure of the host is the failure of the replay.
    assert_same(&sandbox, &[], ", 2 answers compared, 0 differ\n")?;
    let failed = says(["show".as_ref(), sandbox.file.as_os_str(), "--failed".as_ref()])?;
    assert!(failed.contains("TagSend  failed after") && failed.contains("worker 3"), "{failed}");

    let commands = ["rq_create", "addr=none", "+", "rq_destroy", "rq_id=9"];
    let rdmo = Recorded::calls("worker_rdmo", &[], &commands)?;
    assert_same(&rdmo, &[], "worker_rdmo: 2 commands in ")
}

#[test]
fn the_first_difference_is_shown_with_all_fields_and_each_other_in_a_line() -> Result<()> {
    let loopbacks = ["loopback", "data=1", "+", "loopback", "data=2", "+", "loopback", "data=3"];
    let recorded = Recorded::calls("worker_graph", &[], &loopbacks)?.with(|entry| {
        let Entry::Answer { payload, status, text, .. } = entry else { return };
        let Some(bytes) = payload else { return };
        match bytes[8] {
            1 => bytes.to_mut()[8] = 42,
            2 => (*status, *payload, *text) = (DocaError::FULL.code(), None, "no space".into()),
            _ => {}
        }
    })?;
    let (code, text) = recorded.replayed(&[])?;
    assert_eq!(code, Some(1), "{text}");
    let lines: Vec<_> = text.lines().collect();
    assert_eq!(lines[0], "command 1 (Loopback) of host 1: data = 1; recorded: 42");
    assert_eq!(lines[1], "  sent      Loopback  data = 1");
    assert!(lines[2].starts_with("  at ") && lines[2].ends_with(" s"), "{text}");
    assert_eq!(lines[3], "  recorded  LoopbackDone  data = 42");
    assert_eq!(lines[4], "  replayed  LoopbackDone  data = 1");
    let second = "it succeeded; recorded: DOCA_ERROR_FULL: no space";
    assert_eq!(lines[5], format!("command 2 (Loopback) of host 1: {second}"));
    assert!(lines[6].ends_with(", 3 answers compared, 2 differ") && lines.len() == 7, "{text}");
    let (_, text) = recorded.replayed(&["--ignore", "data"])?;
    assert!(text.contains("1 differ"), "{text}");
    Ok(())
}

#[test]
fn memory_is_repeated_if_it_was_recorded() -> Result<()> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(&file, [[3; 8], [4; 8]].concat())?;
    let memory = format!("--memory=a=@{}", file.path().display());
    let read = ["read", "memory=a[8..16]", "offset=0", "len=8", &memory];
    let without = Recorded::calls("worker_memory", &[], &read)?;
    let sums = "not sent: 1 command with memory that the recording lacks";
    assert_same(&without, &[], sums)?;
    let with = Recorded::calls("worker_memory", &["--record-memory"], &read)?;
    assert_same(&with, &[], "1 answer compared, 0 differ")?;
    let changed = with.with(|entry| {
        if let Entry::Memory { bytes, .. } = entry {
            bytes.to_mut()[1] = 9;
        }
    })?;
    let (code, text) = changed.replayed(&[])?;
    assert!(code == Some(1) && text.contains("0409040404040404"), "{text}");
    Ok(())
}

/// Starts a worker of the sandbox, for commands with a timeout.
fn receive(
    plugin: &urom_host::Plugin,
    worker: &urom_host::Worker,
    limit: Duration,
) -> Result<urom_host::RawCompletion> {
    let receive = sandbox_protocol::TagRecv {
        context: 0,
        buffer: 0,
        count: 8,
        tag: 1,
        tag_mask: 1,
        memh_id: 0,
    };
    Ok(worker.task(*plugin, &encoded(receive)?).timeout(limit).submit()?)
}

fn encoded(command: impl Request) -> Result<Vec<u8>> {
    let mut bytes = vec![0; command.encoded_len().context("its length is known")?];
    command.encode(&mut bytes)?;
    Ok(bytes)
}

#[test]
fn commands_are_cancelled_and_time_out_and_hosts_leave_as_they_did() -> Result<()> {
    let recorded = Recorded::of("worker_sandbox", &[], |_, address| {
        let service = Service::builder().address(address).connect_blocking()?;
        let plugin = service.plugin_named("worker_sandbox")?;
        let worker = || service.worker().plugin(plugin).id(7).start().wait();
        let (stays, leaves) = (worker()?, worker()?);
        let left = receive(&plugin, &leaves, Duration::MAX)?;
        let late = receive(&plugin, &stays, Duration::from_millis(50))?;
        let cancelled = receive(&plugin, &stays, Duration::MAX)?;
        assert_eq!(late.wait()?.status, DocaError::TIME_OUT);
        drop((left, leaves));
        cancelled.cancel();
        assert_eq!(cancelled.wait()?.status, DocaError::SKIPPED);
        stays.stop().wait()?;
        Ok(())
    })?;
    let (code, text) = recorded.replayed(&[])?;
    assert!(code == Some(0) && text.contains("3 commands"), "{code:?}: {text}");
    // The host that left may have cancelled its command before.
    assert!(text.contains("not compared: answers of "), "{text}");
    Ok(())
}

#[test]
fn a_worker_that_crashed_crashes_again_and_its_command_is_named() -> Result<()> {
    let echoes = ["echo", "data=1", "+", "echo", "data=2"];
    // A crash loses the last entries of a recording, so this one is made.
    let recorded = Recorded::calls("worker_faulty", &[], &echoes)?.with(|entry| match entry {
        Entry::Command { bytes, .. } if bytes[8] == 2 => {
            *bytes.to_mut() = encoded(faulty_protocol::Crash).unwrap();
        }
        Entry::Answer { at, payload: Some(bytes), .. } if bytes[8] == 2 => {
            *entry = Entry::HostLeft { at: *at, host: 99 };
        }
        Entry::HostLeft { host, .. } => *host = 99,
        _ => {}
    })?;
    let (code, text) = recorded.replayed(&[])?;
    assert!(code == Some(1) && text.contains("(Crash) of host 1, whose answer is not"), "{text}");
    Ok(())
}

#[test]
fn what_cannot_be_replayed_is_refused_with_the_reason() -> Result<()> {
    let recorded = Recorded::calls("worker_graph", &[], &["loopback", "data=1"])?;
    let refused = |code, file: &Path, plugin: &str, words: &[&str], part: &str| -> Result<()> {
        let output = tool(["replay"])?.arg(file).arg(plugin).args(words).output()?;
        let text = String::from_utf8(output.stderr)?;
        ensure!(output.status.code() == Some(code) && text.contains(part), "{part}: {text}");
        Ok(())
    };
    let (file, graph) = (&*recorded.file, &*recorded.plugin);
    refused(1, Path::new("/no/such.urec"), graph, &[], "cannot read the recording")?;
    refused(1, Path::new(graph), graph, &[], "not a recording")?;
    refused(1, file, &rust("worker_sandbox")?, &[], "recorded: worker_graph")?;
    refused(1, file, "/no/such.so", &[], "/no/such.so")?;
    refused(2, file, graph, &["--speed", "0"], "a number above 0")?;
    refused(2, file, graph, &["--ignore", "date"], "no answer has `date`, only `data`")?;
    let words = ["show".as_ref(), file.as_os_str(), "--command".as_ref(), "Loopbak".as_ref()];
    let unknown = tool(words)?.output()?;
    let text = String::from_utf8(unknown.stderr)?;
    ensure!(unknown.status.code() == Some(2) && text.contains("did you mean"), "{text}");
    let other = recorded.directory.path().join("format.urec");
    let mut bytes = fs::read(file)?;
    bytes[7] += 1;
    fs::write(&other, &bytes)?;
    refused(1, &other, graph, &[], "use the release of the service that wrote it")?;
    bytes[7] -= 1;
    bytes.truncate(bytes.len() - 3);
    fs::write(&other, &bytes)?;
    let (code, text) = Recorded { file: other, ..recorded }.replayed(&[])?;
    assert!(code == Some(0) && text.contains("the last entry is incomplete"), "{text}");
    Ok(())
}
