//! Headers that are not the same in every variant.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    First {
        #[urom(header)]
        worker: u64,
        #[urom(header)]
        flags: u32,
        value: u64,
    },
    #[urom(reply = Done)]
    Late {
        #[urom(header)]
        worker: u64,
        value: u64,
        #[urom(header)]
        flags: u32,
    },
    #[urom(reply = Done)]
    Differs {
        #[urom(header)]
        worker: u32,
        #[urom(header)]
        flags: u32,
    },
    #[urom(reply = Done)]
    Lacks {
        #[urom(header)]
        worker: u64,
    },
    #[urom(reply = Done)]
    Nothing,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
