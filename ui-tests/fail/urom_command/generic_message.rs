//! Types and constants that are not known.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<T, const N: usize> {
    #[urom(reply = Done)]
    Work { value: T, values: [u8; N] },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
