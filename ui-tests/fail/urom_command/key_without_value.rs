//! A key whose value is missing.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
    #[urom(reply)]
    Rest,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
