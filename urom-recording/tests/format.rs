//! Recordings are read as they were written, and cut, damaged or foreign files are refused.

use std::io::{self, Write};

use urom_recording::{
    Entry, FORMAT, ReadError, RecordedId, RecordedPlugin, RecordingHeader, RecordingReader,
    RecordingWriter,
};

fn header() -> RecordingHeader {
    let plugin = RecordedPlugin {
        id: 4,
        name: "worker_graph".to_owned(),
        version: 1,
        description: Some(vec![1, 2, 3]),
    };
    RecordingHeader {
        started: 1_700_000_000_000_000_000,
        service: "0.1.0".to_owned(),
        worker: 7,
        group: 2,
        plugins: vec![plugin],
    }
}

fn entries() -> Vec<Entry<'static>> {
    let id = RecordedId { host: 1, token: 1 << 32 };
    vec![
        Entry::Command { at: 10, id, plugin: 4, bytes: vec![0; 16].into() },
        Entry::Cancel { at: 20, id, is_late: true },
        Entry::Answer { at: 30, id, status: 9, payload: None, text: "too late".into() },
        Entry::Answer { at: 31, id, status: 0, payload: Some(vec![5; 8].into()), text: "".into() },
        Entry::HostLeft { at: 40, host: 1 },
        Entry::Lost { at: 50, count: 3 },
    ]
}

fn recording() -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = RecordingWriter::new(&mut bytes, &header(), u64::MAX).unwrap();
    for entry in entries() {
        assert!(writer.write(&entry).unwrap());
    }
    writer.flush().unwrap();
    drop(writer);
    bytes
}

fn read(bytes: &[u8]) -> Result<(Vec<Entry<'static>>, bool), ReadError> {
    let mut reader = RecordingReader::new(bytes)?;
    assert_eq!(*reader.header(), header());
    let mut entries = Vec::new();
    while let Some(entry) = reader.entry()? {
        entries.push(entry.into_owned());
    }
    Ok((entries, reader.is_cut()))
}

#[test]
fn a_recording_is_read_as_it_was_written() {
    assert_eq!(read(&recording()).unwrap(), (entries(), false));
}

#[test]
fn a_recording_that_was_cut_has_all_entries_before_the_cut() {
    let whole = recording();
    let begin = {
        let mut bytes = Vec::new();
        RecordingWriter::new(&mut bytes, &header(), u64::MAX).unwrap().flush().unwrap();
        bytes.len()
    };
    let mut counts = Vec::new();
    for len in begin..whole.len() {
        let (read, is_cut) = read(&whole[..len]).unwrap();
        assert_eq!(read, entries()[..read.len()], "{len} bytes");
        counts.push((read.len(), is_cut));
    }
    assert_eq!(counts.iter().filter(|(_, is_cut)| !is_cut).count(), entries().len());
    assert!(counts.is_sorted());
    for len in 0..begin {
        assert!(RecordingReader::new(&whole[..len]).is_err(), "{len} bytes");
    }
}

#[test]
fn other_files_and_formats_are_refused_with_both_numbers() {
    assert!(matches!(read(b"\x7fELF...."), Err(ReadError::NotARecording)));
    let mut newer = recording();
    newer[7] = FORMAT + 1;
    let error = read(&newer).unwrap_err();
    assert!(matches!(error, ReadError::Format { found } if found == FORMAT + 1), "{error}");
    assert!(error.to_string().contains("format 2") && error.to_string().contains("format 1"));
}

#[test]
fn damaged_bytes_are_an_error_or_another_entry_and_never_a_panic() {
    let whole = recording();
    for at in 8..whole.len() {
        for change in [1, 0x80, 0xff] {
            let mut bytes = whole.clone();
            bytes[at] ^= change;
            let Ok(mut reader) = RecordingReader::new(&bytes[..]) else { continue };
            while let Ok(Some(entry)) = reader.entry() {
                let _ = entry.at();
            }
        }
    }
    let mut long = recording();
    long.extend_from_slice(&u32::MAX.to_le_bytes());
    let error = read(&long).unwrap_err();
    assert!(error.to_string().contains("above the limit"), "{error}");
}

#[test]
fn nothing_is_written_beyond_the_limit() {
    let mut bytes = Vec::new();
    let limit = recording().len() as u64 - 1;
    let mut writer = RecordingWriter::new(&mut bytes, &header(), limit).unwrap();
    let written: Vec<bool> = entries().iter().map(|entry| writer.write(entry).unwrap()).collect();
    writer.flush().unwrap();
    drop(writer);
    assert_eq!(written, [true, true, true, true, true, false]);
    assert!(bytes.len() as u64 <= limit);
    assert_eq!(read(&bytes).unwrap(), (entries()[..5].to_vec(), false));
    let error = RecordingWriter::new(Vec::new(), &header(), 20).unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::FileTooLarge);
}

#[test]
fn a_full_disk_is_an_error_of_the_writer() {
    struct Full(usize);
    impl Write for Full {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.min(bytes.len()) {
                0 => Err(io::ErrorKind::StorageFull.into()),
                len => {
                    self.0 -= len;
                    Ok(len)
                }
            }
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let mut writer = RecordingWriter::new(Full(100), &header(), u64::MAX).unwrap();
    let bytes = vec![1; 200].into();
    let id = RecordedId { host: 1, token: 1 };
    writer.write(&Entry::Command { at: 1, id, plugin: 4, bytes }).unwrap();
    assert_eq!(writer.flush().unwrap_err().kind(), io::ErrorKind::StorageFull);
}
