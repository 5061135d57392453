//! A lifetime, though nothing can be borrowed.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work,
}

#[urom_notification]
enum Notification<'a> {
    Done {
        #[urom(inline)]
        bytes: &'a [u8],
    },
}

fn main() {}
