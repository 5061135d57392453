//! Exported memory maps, read as by a plugin, and sync events, imported as by a host.

use std::sync::LazyLock;

use urom_memory::SyncEvent;
use urom_pdk::DocaStatus;
use urom_pdk::memory::Exported;

/// Reads an exported map, whose checksum is first corrected if `with_sum`. A readable map has a
/// valid range, allows reads by others, and survives a rewrite.
pub fn read(with_sum: bool, bytes: &[u8]) {
    let mut bytes = crate::exact(bytes);
    if with_sum {
        correct_sum(&mut bytes);
    }
    match Exported::read(&bytes) {
        Ok(map) => {
            assert!(map.len() > 0 && map.address().checked_add(map.len()).is_some());
            assert!(map.id() != 0 && map.access().others_read());
            let written = map.to_bytes();
            let again = Exported::read(&written).expect("it was read before");
            assert_eq!((again.range(), again.access()), (map.range(), map.access()));
            assert_eq!((again.address(), again.to_bytes()), (map.address(), written));
        }
        Err(error) => assert!(error.code() != DocaStatus::SUCCESS && !error.to_string().is_empty()),
    }
}

/// Imports an event of this process with changed bytes, truncated if `is_cut`, with a right
/// checksum if `with_sum`. The import is the same event, unless the counter's offset was changed.
pub fn read_event(is_cut: bool, with_sum: bool, changes: &[u8]) {
    const OFFSET: std::ops::Range<usize> = 40..48;
    static EVENT: LazyLock<(SyncEvent, Vec<u8>)> = LazyLock::new(|| {
        let event = SyncEvent::new().expect("an event");
        event.set(4711).expect("it may be set");
        let exported = event.export().expect("others may use it");
        (event, exported)
    });
    let (event, exported) = &*EVENT;
    let len = if is_cut { changes.len().min(exported.len()) } else { exported.len() };
    let mut bytes = crate::exact(&exported[..len]);
    for (byte, change) in bytes.iter_mut().zip(changes) {
        *byte ^= change;
    }
    if with_sum {
        correct_sum(&mut bytes);
    }
    match SyncEvent::import(&bytes) {
        Ok(same) => assert!(same.get() == event.get() || bytes[OFFSET] != exported[OFFSET]),
        Err(error) => {
            assert!(bytes[..] != exported[..], "what was exported is not read: {error}");
            assert!(error.code() != DocaStatus::SUCCESS && !error.to_string().is_empty());
        }
    }
}

fn correct_sum(bytes: &mut [u8]) {
    if let Some((rest, sum)) = bytes.split_last_chunk_mut() {
        *sum = crc32fast::hash(rest).to_ne_bytes();
    }
}
