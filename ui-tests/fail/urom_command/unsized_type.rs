//! Types without a length, which rustc refuses as well.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { bytes: [u8] },
    #[urom(reply = Done)]
    Rest { name: str },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
