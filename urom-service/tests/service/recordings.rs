//! Recordings of commands and answers: `uromd --record`.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use urom_abi::DocaStatus;
use urom_abi::trace::CONTEXT_LEN;
use urom_recording::{Entry, RecordingHeader, RecordingReader};
use urom_wire::control::StartWorker;
use urom_wire::fuzzing::frames as bytes_of;

use crate::support::TIMEOUT;
use crate::support::client::{Client, any, op};
use crate::support::uromd::{Uromd, command, wait_gone};

struct Recorded {
    uromd: Uromd,
    directory: TempDir,
}

impl Recorded {
    fn start(args: &[&str]) -> Recorded {
        let directory = tempfile::tempdir().unwrap();
        let record = ["--record", directory.path().to_str().unwrap()];
        let uromd = Uromd::obedient(&[&record, args].concat());
        Recorded { uromd, directory }
    }

    fn files(&self) -> Vec<PathBuf> {
        let files = fs::read_dir(self.directory.path()).unwrap();
        files.map(|file| file.unwrap().path()).collect()
    }

    /// Reads the only recording once it has so many entries.
    fn entries(&self, count: usize) -> (RecordingHeader, Vec<Entry<'static>>) {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let [file] = &self.files()[..] else { panic!("one recording: {:?}", self.files()) };
            let (header, entries) = read(file);
            if entries.len() >= count {
                return (header, entries);
            }
            assert!(Instant::now() < deadline, "{entries:?}");
        }
    }
}

fn read(file: &Path) -> (RecordingHeader, Vec<Entry<'static>>) {
    let mut reader = RecordingReader::open(file).unwrap();
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry().unwrap() {
        entries.push(entry.into_owned());
    }
    (reader.header().clone(), entries)
}

#[test]
fn commands_answers_and_hosts_are_recorded_in_their_order_with_times() {
    let recorded = Recorded::start(&[]);
    let mut client = Client::connect(recorded.uromd.address);
    let one = || StartWorker { id: 5, ..any() };
    let stays = client.attach(one(), 1);
    let host = Client::connect(recorded.uromd.address).attach(one(), 2);
    assert_eq!(host.call(op::ECHO, 7).status, DocaStatus::SUCCESS);
    assert_eq!(host.call(op::STATUS, 6).status, DocaStatus::INVALID_VALUE);
    drop(host);
    let (header, entries) = recorded.entries(5);
    assert_eq!((&*header.plugins[0].name, header.plugins[0].version), ("obedient", 7));
    let echo = [op::ECHO.to_le_bytes(), 7_u64.to_le_bytes()].concat();
    let [
        Entry::Command { id: first, bytes, plugin: 1, .. },
        Entry::Answer { id: first_answered, status: 0, payload: Some(payload), .. },
        Entry::Command { id: second, .. },
        Entry::Answer { id: second_answered, status: 6, .. },
        Entry::HostLeft { host: left, .. },
    ] = &entries[..]
    else {
        panic!("{entries:#?}")
    };
    assert_eq!((&bytes[..], &payload[..]), (&echo[..], &echo[..]));
    assert_eq!((first, second), (first_answered, second_answered));
    assert!(first != second && first.host == *left);
    assert!(entries.iter().map(Entry::at).is_sorted());
    let mode = fs::metadata(&recorded.files()[0]).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(stays);
}

#[test]
fn a_command_with_a_trace_context_is_recorded_without_it() {
    let recorded = Recorded::start(&[]);
    let host = Client::connect(recorded.uromd.address).attach(any(), 1);
    let echo = [op::ECHO.to_le_bytes(), 7_u64.to_le_bytes()].concat();
    host.send_bytes(bytes_of::traced_command(0, 0, 0, [1; CONTEXT_LEN], &echo));
    assert!(host.note().trace.is_some());
    let (_, entries) = recorded.entries(2);
    let [Entry::Command { bytes, .. }, Entry::Answer { payload: Some(payload), .. }] = &entries[..]
    else {
        panic!("{entries:#?}")
    };
    assert_eq!((&bytes[..], &payload[..]), (&echo[..], &echo[..]));
}

#[test]
fn the_recording_of_a_worker_that_is_killed_has_all_but_the_last_second() {
    let recorded = Recorded::start(&[]);
    let host = Client::connect(recorded.uromd.address).attach(any(), 1);
    let worker = host.pid();
    for _ in 0..50 {
        host.call(op::ECHO, 1);
    }
    // The writer's thread needs no more commands to write them.
    let (_, entries) = recorded.entries(102);
    kill_process(Pid::from_raw(worker as _).unwrap(), Signal::KILL).unwrap();
    wait_gone(worker);
    assert!(read(&recorded.files()[0]).1.len() >= entries.len());
}

#[test]
fn a_recording_ends_at_its_limit_and_its_worker_goes_on() {
    let recorded = Recorded::start(&["--record-limit", "65536"]);
    let host = Client::connect(recorded.uromd.address).attach(any(), 1);
    for _ in 0..2000 {
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
    recorded.uromd.logged(&["has its full size"]);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert!(fs::metadata(&recorded.files()[0]).unwrap().len() <= 65_536);
    assert!(!read(&recorded.files()[0]).1.is_empty());
}

#[test]
fn plugins_that_are_not_named_are_not_recorded() {
    let recorded = Recorded::start(&["--record-plugin", "another"]);
    let host = Client::connect(recorded.uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert!(recorded.files().is_empty());
}

#[test]
fn a_worker_that_cannot_record_works_and_says_so() {
    let recorded = Recorded::start(&[]);
    fs::remove_dir(recorded.directory.path()).unwrap();
    let host = Client::connect(recorded.uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    recorded.uromd.logged(&["commands are not recorded"]);
}

#[test]
fn a_directory_that_is_missing_is_named_with_the_option() {
    let output = command().args(["--record", "/no/such"]).output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(text.contains("--record") && text.contains("make it first"), "{text}");
}

struct Switched {
    recorded: Recorded,
    control: TempDir,
}

impl Switched {
    fn start() -> Switched {
        let (directory, control) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let socket = control.path().join("control");
        let uromd = Uromd::obedient(&["--control", socket.to_str().unwrap()]);
        Switched { recorded: Recorded { uromd, directory }, control }
    }

    fn record(&self, words: &[&str]) -> (bool, String) {
        let mut command = command();
        command.arg("record").args(words).current_dir(self.recorded.directory.path());
        command.arg("--control").arg(self.control.path().join("control"));
        let output = command.output().unwrap();
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8(text).unwrap())
    }
}

#[test]
fn a_recording_begins_and_ends_while_hosts_work() {
    let service = Switched::start();
    let uromd = &service.recorded.uromd;
    let host = Client::connect(uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    let (is_done, text) = service.record(&["."]);
    assert!(is_done && text.contains(": 1 worker, and workers that start later"), "{text}");
    uromd.logged(&["recording commands to"]);
    assert_eq!(host.call(op::ECHO, 2).status, DocaStatus::SUCCESS);
    let later = Client::connect(uromd.address).attach(any(), 1);
    assert_eq!(later.call(op::ECHO, 3).status, DocaStatus::SUCCESS);
    assert_eq!(service.record(&["--stop"]), (true, "recordings ended: 2 workers\n".to_owned()));
    uromd.logged(&["[worker auto-1]", "the recording has ended"]);
    assert_eq!(host.call(op::ECHO, 4).status, DocaStatus::SUCCESS);
    let files = service.recorded.files();
    assert_eq!(files.len(), 2, "{files:?}");
    let deadline = Instant::now() + TIMEOUT;
    for file in &files {
        while read(file).1.len() < 2 {
            assert!(Instant::now() < deadline, "{file:?}");
        }
    }
    let commands = files.iter().flat_map(|file| read(file).1).filter_map(|entry| match entry {
        Entry::Command { bytes, .. } => Some(u64::from_le_bytes(*bytes.last_chunk().unwrap())),
        _ => None,
    });
    let mut commands: Vec<_> = commands.collect();
    commands.sort_unstable();
    assert_eq!(commands, [2, 3]);
}

#[test]
fn a_recording_that_cannot_begin_is_refused_with_the_reason() {
    let service = Switched::start();
    for (words, part) in [
        (&["/no/such"][..], "the service cannot make files in /no/such"),
        (&["/dev/null"], "the service cannot make files in /dev/null"),
        (&[".", "--plugin", "nothing"], "the service has no plugin `nothing`"),
        (&[], "name a directory first, or --stop"),
        (&["--plugin", "obedient"], "name the directory before its options"),
        (&[".", "--stop"], "--stop"),
        (&[".", "."], "."),
        (&[".", "--limit", "x"], "\"x\""),
        (&[".", "--limit", "1"], "65536 is the least"),
    ] {
        let (is_done, text) = service.record(words);
        assert!(!is_done && text.contains(part), "{words:?}: {text}");
    }
    let host = Client::connect(service.recorded.uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert!(service.recorded.files().is_empty());
}
