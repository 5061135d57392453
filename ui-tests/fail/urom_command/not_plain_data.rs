//! Structures and enums whose bytes are not plain data.

use urom_abi::{urom_command, urom_notification};

struct Neither {
    value: u64,
}

#[derive(Clone, Copy)]
#[repr(u8)]
enum Kind {
    One = 1,
}

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: Neither, kind: Kind, later: u8 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
