//! A domain's blobs: the table for a worker, and the processes' verdicts.

use crate::plain::Plain;

use super::memory::within;
use crate::domain::{MAX_MEMBERS, MAX_SEGMENTS, Participant, Table, Verdict, is_range};

/// The most memory for one byte of a table: a buffer takes four bytes, and six words in a vector
/// that grows by doubling; a worker two bytes, and also a map entry.
const GROWTH: usize = 128;

pub fn domain_table(input: &[u8]) {
    table(input);
    if let Some(verdict) = input.get(..size_of::<Verdict>()).and_then(Verdict::read)
        && verdict.result().is_some()
    {
        assert!(input.starts_with(b"uromdom2"));
    }
}

fn table(input: &[u8]) {
    let table = match within(GROWTH * input.len() + (16 << 10), || Table::read(input)) {
        Ok(table) => table,
        Err(failure) => {
            assert!(!failure.text.is_empty());
            return;
        }
    };
    let all = &table.participants;
    let members = all.iter().flat_map(|participant| &participant.members);
    let mut ids: Vec<u64> = members.map(|member| member.id).collect();
    let segments = || all.iter().flat_map(|participant| &participant.segments);
    assert_eq!((table.members(), table.segments()), (ids.len(), segments().count()));
    assert!(ids.len() <= MAX_MEMBERS && segments().count() <= MAX_SEGMENTS && !all.is_empty());
    ids.sort_unstable();
    assert!(ids.is_sorted_by(|a, b| a < b), "an id is one worker's");
    assert!(segments().all(|segment| is_range(segment.va, segment.len)));
    let written: Vec<u8> = all.iter().flat_map(Participant::encode).collect();
    let again = Table::read(&written).expect("what was read can be read again");
    assert_eq!(again.participants, table.participants);
}
