//! The bodies of the fuzz targets, by name.

use crate::check;
use crate::description;
use crate::plugin;
use crate::subject::{SUBJECTS, Subject};

/// What is done with an input.
pub type Body = fn(&[u8]);

/// Every target, and its body.
pub const ALL: [(&str, Body); 4] = [
    ("command_decode", command_decode),
    ("description_read", description_read),
    ("notification_decode", notification_decode),
    ("worker_cmd", worker_cmd),
];

/// The first byte chooses a protocol, the others are a command.
pub fn command_decode(input: &[u8]) {
    if let Some((subject, bytes)) = subject(input) {
        check::command(subject, bytes);
    }
}

/// What stands behind the header of a description's section: see [`description::read`].
pub fn description_read(input: &[u8]) {
    description::read(input);
}

/// The first byte chooses a protocol, the others are a notification.
pub fn notification_decode(input: &[u8]) {
    if let Some((subject, bytes)) = subject(input) {
        check::notification(subject, bytes);
    }
}

/// The first byte chooses a plugin, the others are what a worker does with it: see [`plugin::run`].
pub fn worker_cmd(input: &[u8]) {
    plugin::run(input);
}

fn subject(input: &[u8]) -> Option<(&'static Subject, &[u8])> {
    let (choice, bytes) = input.split_first()?;
    Some((SUBJECTS[usize::from(*choice) % SUBJECTS.len()], bytes))
}
