//! Names that no plugin's file can have.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
}

mod long {
    #[urom_abi::urom_command(
        plugin = "worker_0123456789_0123456789_0123456789_01234567",
        version = 1,
        notification = super::Notification
    )]
    enum Command {
        #[urom(reply = super::Done)]
        Work { value: u64 },
    }
}

mod bytes {
    #[urom_abi::urom_command(plugin = "a/b\0", version = 1, notification = super::Notification)]
    enum Command {
        #[urom(reply = super::Done)]
        Work { value: u64 },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
