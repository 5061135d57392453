//! A type that only the compiler knows to be no payload.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(inline)]
        list: Vec<u8>,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
