//! A value of the wrong kind.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = worker, version = "1")]
enum Command {
    #[urom(reply = "Done")]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
