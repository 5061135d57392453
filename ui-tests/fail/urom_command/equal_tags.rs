//! Two variants with one tag, as a discriminant: one error, and not another one of rustc's.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    First = 3,
    #[urom(reply = Done)]
    Second = 3,
    #[urom(reply = Done)]
    Third = 4,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
