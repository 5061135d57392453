//! A value for a key that stands alone.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(echo = true)]
        context: u64,
    },
}

#[urom_notification]
enum Notification {
    Done {
        #[urom(echo)]
        context: u64,
    },
}

fn main() {}
