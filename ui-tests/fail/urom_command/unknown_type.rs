//! A type that does not exist.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: Mistyped },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
