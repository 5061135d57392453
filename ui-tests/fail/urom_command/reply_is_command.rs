//! A notification named like a command.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Work)]
    Work { value: u64 },
    #[urom(reply = Work)]
    Rest,
}

#[urom_notification]
enum Notification {
    Work { value: u64 },
}

fn main() {}
