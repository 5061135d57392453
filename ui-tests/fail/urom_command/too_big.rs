//! A command that exceeds the default message limit, and one that just fits it.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: [u8; 4065] },
}

mod fits {
    #[urom_abi::urom_command(plugin = "p", version = 1, notification = super::Notification)]
    enum Command {
        #[urom(reply = super::Done)]
        Work { value: [u8; 4064] },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
