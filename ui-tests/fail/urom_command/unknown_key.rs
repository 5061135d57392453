//! A key that does not exist: on the enum, on a variant, on a field.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1, plugins = "q")]
enum Command {
    #[urom(replay = Other, reply = Done)]
    Work {
        #[urom(ecko)]
        value: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
