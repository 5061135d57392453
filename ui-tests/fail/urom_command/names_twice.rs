//! Two variants, and two fields, of one name: rustc says so, once.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
    #[urom(reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done { status: u64, status: u64 },
}

fn main() {}
