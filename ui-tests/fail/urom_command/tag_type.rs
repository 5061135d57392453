//! Tags of a type that is no tag, or not yet one.

use urom_abi::{urom_command, urom_notification};

mod signed {
    #[urom_abi::urom_command(plugin = "p", version = 1, tag = i32, notification = super::Notification)]
    enum Command {
        #[urom(reply = super::Done)]
        Work { value: u64 },
    }
}

#[urom_command(plugin = "p", version = 1, tag = u32)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
