//! Structures whose bytes are not plain data.

use urom_abi::{urom_command, urom_notification};

struct Neither {
    value: u64,
}

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: Neither, list: Vec<u8>, pair: (u8, u8) },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
