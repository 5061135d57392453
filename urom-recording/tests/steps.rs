//! The steps of a replay, from recordings that are whole, and from those that lack entries.

use urom_recording::{
    Entry, RecordedId, RecordedMemory, RecordingExtent, RecordingHeader, RecordingReader,
    RecordingWriter, Step, Steps,
};

fn id(host: u64, token: u64) -> RecordedId {
    RecordedId { host, token }
}

fn command(at: u64, id: RecordedId, plugin: u64) -> Entry<'static> {
    Entry::Command { at, id, plugin, bytes: vec![at as u8].into() }
}

fn answer(at: u64, id: RecordedId, status: u32) -> Entry<'static> {
    Entry::Answer { at, id, status, payload: None, text: "".into() }
}

fn steps_of(entries: &[Entry<'_>]) -> (Vec<Step>, RecordingExtent) {
    let header = RecordingHeader {
        started: 0,
        service: "0.1.0".to_owned(),
        worker: 7,
        group: 0,
        plugins: Vec::new(),
    };
    let mut bytes = Vec::new();
    let mut writer = RecordingWriter::new(&mut bytes, &header, u64::MAX).unwrap();
    entries.iter().for_each(|entry| assert!(writer.write(entry).unwrap()));
    writer.flush().unwrap();
    drop(writer);
    let read = || Steps::new(RecordingReader::new(&*bytes).unwrap(), 4);
    let (mut reader, mut steps) = (read(), Vec::new());
    while let Some(step) = reader.step().unwrap() {
        steps.push(step);
    }
    (steps, read().extent().unwrap())
}

#[test]
fn commands_of_one_plugin_are_numbered_and_keep_their_order() {
    let (steps, extent) = steps_of(&[
        command(1, id(1, 9), 4),
        command(2, id(2, 9), 8),
        command(3, id(2, 8), 4),
        Entry::Cancel { at: 4, id: id(1, 9), is_late: true },
        answer(5, id(2, 9), 0),
        answer(6, id(2, 8), 0),
        answer(7, id(1, 9), 5),
        Entry::HostLeft { at: 8, host: 1 },
    ]);
    let (payload, text) = (None, String::new());
    assert_eq!(
        steps,
        [
            Step::Command { at: 1, number: 1, host: 1, bytes: vec![1] },
            Step::Command { at: 3, number: 2, host: 2, bytes: vec![3] },
            Step::Cancel { at: 4, number: 1, is_late: true },
            Step::Answer { at: 6, number: 2, status: 0, payload: None, text: String::new() },
            Step::Answer { at: 7, number: 1, status: 5, payload, text },
            Step::HostLeft { at: 8, host: 1 },
        ]
    );
    assert_eq!((extent.commands, extent.most_in_flight, extent.lost), (2, 2, 0));
}

#[test]
fn a_token_may_be_used_again_and_answers_without_a_command_are_left_out() {
    let (steps, extent) = steps_of(&[
        answer(1, id(1, 9), 0),
        Entry::Cancel { at: 1, id: id(1, 9), is_late: false },
        command(2, id(1, 9), 4),
        answer(3, id(1, 9), 0),
        // A worker records the refusal of a command without a plugin like this.
        answer(4, id(1, 9), 7),
        command(5, id(1, 9), 4),
        Entry::Lost { at: 6, count: 3 },
        Entry::Lost { at: 6, count: u64::MAX },
        Entry::HostLeft { at: 7, host: 1 },
        answer(8, id(1, 9), 0),
    ]);
    let numbers: Vec<_> = steps
        .iter()
        .map(|step| match step {
            Step::Command { number, .. } | Step::Answer { number, .. } => *number,
            _ => 0,
        })
        .collect();
    assert_eq!(numbers, [1, 1, 2, 0]);
    assert_eq!((extent.commands, extent.most_in_flight, extent.lost), (2, 1, u64::MAX));
}

#[test]
fn memory_has_the_extent_of_all_its_recorded_bytes() {
    let part = |memory, offset, len| {
        let bytes = vec![7; len].into();
        Entry::Memory { at: 0, host: 1, memory, offset, bytes }
    };
    let (steps, extent) =
        steps_of(&[part(3, 0, 8), part(3, 100, 4), part(3, 50, 4), part(4, 1, 1)]);
    let memory = |memory| RecordedMemory { host: 1, memory };
    assert_eq!(extent.memory, [(memory(3), 104), (memory(4), 2)].into());
    let huge = steps_of(&[part(3, 0, 8), part(5, 1 << 40, 1), part(6, u64::MAX, 1)]).1.memory;
    assert_eq!(huge, [(memory(3), 8)].into(), "more than a machine has");
    assert_eq!(steps[1], Step::Memory { memory: memory(3), offset: 100, bytes: vec![7; 4] });
}
