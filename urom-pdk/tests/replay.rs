//! Recordings as tests of a plugin.

use std::cell::RefCell;
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use urom_abi::describe::section::{self, Build, Panic};
use urom_abi::memory::MemoryRange;
use urom_abi::protocol::{Protocol as _, Reply, Request};
use urom_abi::{DocaError, DocaStatus, urom_command, urom_notification};
use urom_pdk::prelude::*;
use urom_pdk::test_util::{ReadError, Recording, Replay};
use urom_pdk::{CancelReason, time};
use urom_recording::{Entry, RecordedId, RecordedPlugin, RecordingHeader, RecordingWriter};

#[urom_command(plugin = "worker_clerk", version = 3)]
#[derive(Clone, Copy)]
pub(crate) enum Command {
    /// Adds to the number of earlier `Add` commands.
    #[urom(reply = Value)]
    Add { number: u64 },
    #[urom(reply = Value)]
    Sleep { seconds: u64 },
    #[urom(reply = Value)]
    Fail { code: u64 },
    /// Waits until it is cancelled, and answers with the reason.
    #[urom(reply = Value)]
    Wait,
    /// Adds the bytes.
    #[urom(reply = Value)]
    Sum { memory: MemoryRange },
    #[urom(reply = Value)]
    HostsLeft,
}

#[urom_notification]
#[derive(Debug, PartialEq)]
pub(crate) enum Notification {
    Value { value: u64, number: u64 },
}

#[derive(Default)]
struct Clerk {
    count: std::cell::Cell<u64>,
    left: RefCell<Vec<u64>>,
}

impl Clerk {
    fn value(&self, value: u64) -> Result<Value> {
        self.count.set(self.count.get() + 1);
        Ok(Value { value, number: self.count.get() })
    }
}

#[urom_plugin(export = false)]
impl Handler for Clerk {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Clerk::default())
    }

    async fn add(&self, _: &Context, cmd: Add) -> Result<Value> {
        self.value(cmd.number + self.count.get())
    }

    async fn sleep(&self, _: &Context, cmd: Sleep) -> Result<Value> {
        time::sleep(Duration::from_secs(cmd.seconds)).await;
        self.value(cmd.seconds)
    }

    async fn fail(&self, _: &Context, cmd: Fail) -> Result<Value> {
        bail!(DocaError::from_code(cmd.code as u32), "code {}", cmd.code)
    }

    async fn wait(&self, cx: &Context, _: Wait) -> Result<Value> {
        let reason = cx.cancelled().await;
        self.value(u64::from(reason == CancelReason::TimedOut))
    }

    async fn sum(&self, cx: &Context, cmd: Sum) -> Result<Value> {
        let mut bytes = vec![0; cmd.memory.len as usize];
        cx.memory(cmd.memory)?.read(0, &mut bytes).await?;
        self.value(bytes.iter().map(|byte| u64::from(*byte)).sum())
    }

    async fn hosts_left(&self, _: &Context, _: HostsLeft) -> Result<Value> {
        self.value(self.left.borrow().len() as u64)
    }

    fn host_left(&self, connection: urom_abi::ConnectionId) {
        self.left.borrow_mut().push(connection.into());
    }
}

const HOST: u64 = 7;

fn id(token: u64) -> RecordedId {
    RecordedId { host: HOST, token }
}

fn sent_by(host: u64, at: u64, token: u64, command: impl Request) -> Entry<'static> {
    let mut bytes = vec![0; command.encoded_len().unwrap()];
    command.encode(&mut bytes).unwrap();
    Entry::Command { at, id: RecordedId { host, token }, plugin: 4, bytes: bytes.into() }
}

fn sent(at: u64, token: u64, command: impl Request) -> Entry<'static> {
    sent_by(HOST, at, token, command)
}

fn answered(at: u64, token: u64, value: u64, number: u64) -> Entry<'static> {
    let answer = Value { value, number }.into_descriptor(&Add { number: 0 }.echo()).unwrap();
    let payload = Some(answer.payload().to_vec().into());
    Entry::Answer { at, id: id(token), status: 0, payload, text: "".into() }
}

fn failed(at: u64, token: u64, code: DocaError, text: &str) -> Entry<'static> {
    let (status, text) = (code.code(), text.to_owned().into());
    Entry::Answer { at, id: id(token), status, payload: None, text }
}

struct Recorded {
    directory: TempDir,
    plugin: RecordedPlugin,
}

impl Recorded {
    fn new() -> Recorded {
        let build = Build { kit: "0.1.0", panic: Panic::Unwind };
        let plugin = RecordedPlugin {
            id: 4,
            name: "worker_clerk".to_owned(),
            version: 3,
            description: Some(section::bytes(Protocol::DESCRIPTION, &build, false)),
        };
        Recorded { directory: TempDir::new().unwrap(), plugin }
    }

    fn file(&self, entries: &[Entry<'_>]) -> std::path::PathBuf {
        let header = RecordingHeader {
            started: 0,
            service: "0.1.0".to_owned(),
            worker: 1,
            group: 0,
            plugins: vec![self.plugin.clone()],
        };
        let path = self.directory.path().join("test.urec");
        let file = std::fs::File::create(&path).unwrap();
        let mut writer = RecordingWriter::new(file, &header, u64::MAX).unwrap();
        entries.iter().for_each(|entry| assert!(writer.write(entry).unwrap()));
        writer.flush().unwrap();
        path
    }
}

fn compare(entries: &[Entry<'_>]) -> Replay {
    let recorded = Recorded::new();
    Recording::open(recorded.file(entries)).unwrap().compare::<Clerk>()
}

fn counts(replay: &Replay) -> (u64, u64, usize) {
    assert!(replay.report.is_clean(), "{replay}");
    (replay.commands, replay.compared, replay.differences.len())
}

#[test]
fn the_same_answers_are_the_same_and_sleeps_take_no_time() {
    const HOUR: u64 = 3600 * 1_000_000_000;
    let recorded = Recorded::new();
    let file = recorded.file(&[
        sent(1, 1, Add { number: 5 }),
        sent(2, 2, Sleep { seconds: 3600 }),
        answered(3, 1, 5, 1),
        sent(4, 3, Fail { code: 6 }),
        failed(5, 3, DocaError::from_code(6), "another text"),
        // This command is sent before the sleep ends.
        sent(HOUR, 4, Add { number: 10 }),
        answered(HOUR + 1, 4, 11, 2),
        answered(HOUR + 2, 2, 3600, 3),
    ]);
    let replay = Recording::open(file).unwrap().replay::<Clerk>();
    assert_eq!(counts(&replay), (4, 4, 0));
}

#[test]
fn the_first_field_that_differs_is_shown_and_may_be_ignored() {
    let recorded = Recorded::new();
    let file = recorded.file(&[
        sent(1, 1, Add { number: 5 }),
        answered(2, 1, 5, 1),
        sent(3, 2, Add { number: 5 }),
        answered(4, 2, 7, 9),
    ]);
    let recording = Recording::open(file).unwrap();
    let replay = recording.compare::<Clerk>();
    assert_eq!(counts(&replay), (2, 2, 1));
    let text = replay.differences[0].to_string();
    assert_eq!(text, "command 2 (Add) of host 7: value = 6; recorded: 7");
    let replay = recording.clone().ignoring("value").compare::<Clerk>();
    assert_eq!(replay.differences[0].text, "number = 2; recorded: 9");
    assert!(recording.clone().ignoring("value").ignoring("number").compare::<Clerk>().is_same());
    let panic = std::panic::catch_unwind(|| recording.replay::<Clerk>()).unwrap_err();
    let panic = panic.downcast_ref::<String>().unwrap();
    assert!(panic.contains("test.urec: commands: 2") && panic.contains("value = 6"), "{panic}");
}

#[test]
fn another_code_is_a_difference_with_the_reasons_of_both() {
    let replay = compare(&[
        sent(1, 1, Fail { code: 6 }),
        failed(2, 1, DocaError::from_code(5), "a\x1bb"),
        sent(3, 2, Add { number: 1 }),
        failed(4, 2, DocaError::TIME_OUT, ""),
    ]);
    let [first, second] = &replay.differences[..] else { panic!("{replay}") };
    let [six, five] = [6, 5].map(|code| DocaError::from_code(code).name());
    assert_eq!(first.text, format!("{six}: code 6; recorded: {five}: a\\u{{1b}}b"));
    assert_eq!(second.text, "it succeeded; recorded: DOCA_ERROR_TIME_OUT");
    // A failure that is fixed.
    assert_eq!(second.recorded, DocaError::TIME_OUT);
    assert_eq!(second.replayed, Some(DocaStatus::SUCCESS));
}

#[test]
fn commands_are_cancelled_when_they_were_with_the_same_reason() {
    let replay = compare(&[
        sent(1, 1, Wait),
        sent(1, 2, Wait),
        Entry::Cancel { at: 3, id: id(2), is_late: true },
        answered(4, 2, 1, 1),
        Entry::Cancel { at: 5, id: id(1), is_late: false },
        answered(6, 1, 0, 2),
    ]);
    assert_eq!(counts(&replay), (2, 2, 0));
}

#[test]
fn hosts_leave_with_commands_in_flight_and_their_number_may_come_again() {
    let replay = compare(&[
        sent_by(9, 1, 1, Wait),
        sent(1, 1, HostsLeft),
        answered(2, 1, 0, 1),
        Entry::HostLeft { at: 3, host: 9 },
        Entry::HostLeft { at: 3, host: 12 },
        sent(4, 1, HostsLeft),
        // The command of the host that left was the second to end.
        answered(5, 1, 1, 3),
        sent_by(9, 6, 1, Add { number: 1 }),
        Entry::Lost { at: 6, count: 2 },
        sent(7, 2, Add { number: 1 }),
    ]);
    assert_eq!((counts(&replay), replay.lost), ((5, 2, 0), 2));
    // The recording ends before the answers of two commands.
    assert_eq!(replay.report.cut_off, 0, "both were answered");
}

#[test]
fn recorded_memory_is_there_again_and_commands_without_it_are_left_out() {
    let range = |memory, offset, len| MemoryRange { memory, offset, len };
    let memory = |memory, offset, byte, len| {
        let bytes = vec![byte; len].into();
        Entry::Memory { at: 0, host: HOST, memory, offset, bytes }
    };
    let replay = compare(&[
        memory(80, 16, 2, 8),
        sent(1, 1, Sum { memory: range(80, 16, 8) }),
        answered(2, 1, 16, 1),
        memory(80, 17, 3, 1),
        sent(3, 1, Sum { memory: range(80, 8, 16) }),
        answered(4, 1, 17, 2),
        sent(5, 1, Sum { memory: range(81, 0, 8) }),
        answered(6, 1, 5, 3),
        // Memory whose end no machine has.
        memory(82, 1 << 60, 3, 1),
        sent(7, 1, Sum { memory: range(82, 0, 8) }),
        answered(8, 1, 5, 3),
    ]);
    assert_eq!((counts(&replay), replay.skipped), ((4, 2, 0), 2));
    assert!(replay.to_string().contains("left out: 2 (uromd --record-memory"), "{replay}");
}

#[test]
fn a_recording_of_another_plugin_or_version_is_refused() {
    let why = |change: fn(&mut RecordedPlugin)| {
        let mut recorded = Recorded::new();
        change(&mut recorded.plugin);
        let recording = Recording::open(recorded.file(&[])).unwrap();
        let panic = std::panic::catch_unwind(|| recording.compare::<Clerk>()).unwrap_err();
        panic.downcast_ref::<String>().unwrap().clone()
    };
    let name = why(|plugin| plugin.name = "worker_other".to_owned());
    assert!(name.ends_with("worker_clerk is not in it, but worker_other"), "{name}");
    let version = why(|plugin| plugin.version = 2);
    assert!(version.ends_with("it has version 2 of worker_clerk, and this plugin is 3"));
    let messages = why(|plugin| {
        let other = urom_abi::describe::Protocol { version: 4, ..*Protocol::DESCRIPTION };
        let build = Build { kit: "0.1.0", panic: Panic::Unwind };
        plugin.description = Some(section::bytes(&other, &build, false));
    });
    assert!(messages.contains("it has other messages of worker_clerk: "), "{messages}");
}

#[test]
fn a_file_that_is_missing_foreign_or_damaged_is_refused_and_a_cut_one_is_replayed() {
    assert!(matches!(Recording::open("/no/such.urec"), Err(ReadError::Io(_))));
    let recorded = Recorded::new();
    let entries = [sent(1, 1, Add { number: 5 }), answered(2, 1, 5, 1)];
    let path = recorded.file(&entries);
    let whole = std::fs::read(&path).unwrap();
    let open = |bytes: &[u8]| {
        std::fs::write(&path, bytes).unwrap();
        Recording::open(Path::new(&path))
    };
    assert!(matches!(open(b"UROMREC"), Err(ReadError::NotARecording)));
    let cut = open(&whole[..whole.len() - 1]).unwrap().replay::<Clerk>();
    assert_eq!(counts(&cut), (1, 0, 0));
    let mut damaged = whole.clone();
    let last = damaged.len() - 1;
    damaged.truncate(last);
    damaged.extend([0xff; 12]);
    let recording = open(&damaged).unwrap();
    let panic = std::panic::catch_unwind(|| recording.replay::<Clerk>()).unwrap_err();
    assert!(panic.downcast_ref::<String>().unwrap().contains("damaged at byte"));
}
