//! A reply that is misspelt, and nearer to a command's name than to that of the notification.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = TagSendt)]
    TagSend { value: u64 },
    #[urom(reply = Pingg)]
    Ping,
}

#[urom_notification]
enum Notification {
    TagSent,
    Pong,
}

fn main() {}
