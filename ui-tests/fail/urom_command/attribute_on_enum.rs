//! Keys of the enum in the helper attribute.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
#[urom(crate = urom_abi)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
