//! The bodies of the fuzz targets.

use counting_allocator::within;

use crate::check;
use crate::description;
use crate::exported;
use crate::initiator;
use crate::plugin;
use crate::subject::{SUBJECTS, Subject};

/// Memory limit for an input, and for each of its bytes. The C heap, with the descriptors, does not
/// count; whole plugins allocate mostly there.
const MEMORY: usize = 64 << 10;
const GROWTH: usize = 64;

pub type Body = fn(&[u8]);

pub const ALL: [(&str, Body); 7] = [
    ("command_decode", command_decode),
    ("description_read", description_read),
    ("exported_event", exported_event),
    ("exported_map", exported_map),
    ("notification_decode", notification_decode),
    ("rdmo_message", rdmo_message),
    ("worker_cmd", worker_cmd),
];

pub fn command_decode(input: &[u8]) {
    if let Some((subject, bytes)) = subject(input) {
        within(MEMORY + GROWTH * bytes.len(), || check::command(subject, bytes));
    }
}

pub fn description_read(input: &[u8]) {
    within(MEMORY + GROWTH * input.len(), || description::read(input));
}

/// The first byte selects a right checksum and a truncation; the others change an exported sync
/// event.
pub fn exported_event(input: &[u8]) {
    if let Some((choice, changes)) = input.split_first() {
        let (with_sum, is_cut) = (choice % 2 > 0, choice & 2 > 0);
        within(MEMORY, || exported::read_event(is_cut, with_sum, changes));
    }
}

/// The first byte selects a right checksum; the others are an exported memory map.
pub fn exported_map(input: &[u8]) {
    if let Some((choice, bytes)) = input.split_first() {
        within(MEMORY + GROWTH * bytes.len(), || exported::read(choice % 2 > 0, bytes));
    }
}

pub fn notification_decode(input: &[u8]) {
    if let Some((subject, bytes)) = subject(input) {
        within(MEMORY + GROWTH * bytes.len(), || check::notification(subject, bytes));
    }
}

pub fn rdmo_message(input: &[u8]) {
    within(MEMORY + GROWTH * input.len(), || initiator::message(input));
}

/// The first byte chooses a plugin; the others are its program: see [`plugin::run`].
pub fn worker_cmd(input: &[u8]) {
    plugin::run(input);
}

fn subject(input: &[u8]) -> Option<(&'static Subject, &[u8])> {
    let (choice, bytes) = input.split_first()?;
    Some((SUBJECTS[usize::from(*choice) % SUBJECTS.len()], bytes))
}
