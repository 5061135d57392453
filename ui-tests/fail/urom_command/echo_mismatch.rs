//! Echoed fields that command and notification do not share.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Lacks { value: u64 },
    #[urom(reply = Done)]
    Exceeds {
        #[urom(echo)]
        context: u64,
        #[urom(echo)]
        cookie: u64,
    },
    #[urom(reply = Done)]
    Differs {
        #[urom(echo)]
        context: u32,
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
