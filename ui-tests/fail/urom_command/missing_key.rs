//! A protocol without name and version.

use urom_abi::{urom_command, urom_notification};

#[urom_command]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
