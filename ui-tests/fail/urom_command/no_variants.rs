//! A protocol without commands.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
