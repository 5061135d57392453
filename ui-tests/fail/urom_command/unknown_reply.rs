//! Answers and types that do not exist, and enums that are not notifications.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Gone)]
    Work { value: Mistyped },
    // Closer to the command's name than to the notification's.
    #[urom(reply = TagSendt)]
    TagSend { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
    TagSent,
}

mod no_attribute {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Finished)]
        Work { value: u64 },
    }

    enum Notification {
        Finished,
    }
}

mod nowhere {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Finished)]
        Work { value: u64 },
    }
}

fn main() {}
