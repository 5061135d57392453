//! Variants whose handler methods would clash, or be no names.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Open,
    #[urom(reply = Done)]
    TagSend,
    #[urom(reply = Done)]
    Tag_Send,
    #[urom(reply = Done)]
    Crate,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
