//! Answers named as variants of the enum.

use urom_abi::urom_command;

mod answers {
    #[urom_abi::urom_notification]
    pub enum Notification {
        Done,
    }
}
use answers::Notification;

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Notification::Done)]
    Work { value: u64 },
}

mod other {
    #[urom_abi::urom_command(plugin = "p", version = 1, notification = super::answers::Notification)]
    enum Command {
        #[urom(reply = super::answers::Notification::Done)]
        Work { value: u64 },
    }
}

fn main() {}
