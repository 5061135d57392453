//! Payloads that are not said to be.

use urom_abi::{Data, Elements, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        bytes: &'a [u8],
        array: &'a [u8; 4],
        elements: Elements<'a, u16>,
        either: Data<'a>,
        maybe: Option<&'a [u8]>,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
