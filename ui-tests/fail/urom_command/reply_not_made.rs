//! Answers that are not notifications, or are notifications of another protocol.

use urom_abi::{urom_command, urom_notification};

struct Mine {
    _value: u64,
}

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Mine)]
    Work {
        #[urom(echo)]
        context: u64,
        value: u64,
    },
    #[urom(reply = Notification)]
    Rest,
    #[urom(reply = other::Ended)]
    Foreign,
}

#[urom_notification]
enum Notification {
    Done,
}

mod other {
    #[urom_abi::urom_notification]
    pub enum Notification {
        Ended,
    }
}

fn main() {}
