//! Payloads of known lengths that no message has room for.

use urom_abi::{Elements, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Fits {
        #[urom(inline, addr = none)]
        array: &'a [u8; 4064],
    },
    #[urom(reply = Done)]
    TooBig {
        #[urom(inline, addr = none)]
        array: &'a [u8; 65],
        #[urom(inline, addr = none, len = 1000)]
        elements: Elements<'a, u32>,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
