//! Answers that exist and are no notifications.

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
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
