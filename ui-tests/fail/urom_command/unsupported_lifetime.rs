//! A lifetime, which only inline payloads need.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work { value: &'a [u8] },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
