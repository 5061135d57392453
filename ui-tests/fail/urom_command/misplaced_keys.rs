//! Keys that have their place in notifications.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done, also = 1)]
    Work,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
