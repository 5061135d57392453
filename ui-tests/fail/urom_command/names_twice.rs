//! Mistakes that rustc reports once: duplicate names, a lifetime that does not belong to a payload,
//! and types without a length.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
    #[urom(reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done { status: u64, status: u64 },
}

mod lifetime {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Work { value: u64 },
    }

    #[urom_abi::urom_notification]
    enum Notification {
        Done,
    }
}

mod without_length {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work { bytes: [u8] },
        #[urom(reply = Done)]
        Rest { name: str },
    }

    #[urom_abi::urom_notification]
    enum Notification {
        Done,
    }
}

fn main() {}
