//! Fields without names.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work(u64, #[urom(echo)] u64),
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
