//! More variants than tags: one error for each that got none, and none for a tag that nobody chose.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1, tag = u8)]
enum Command {
    #[urom(reply = Done)]
    Zeroth,
    #[urom(reply = Done, tag = 255)]
    Last,
    #[urom(reply = Done)]
    BehindTheLast,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
