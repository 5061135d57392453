//! A key that is given twice, in one attribute and in two.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1, version = 2)]
enum Command {
    #[urom(reply = Done)]
    #[urom(reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
