//! A command that nothing answers.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
