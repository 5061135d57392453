//! A helper attribute without a list.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom]
        value: u64,
        #[urom()]
        empty: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
