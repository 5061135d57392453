//! The attribute on other items. They stay usable.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
struct Command {
    value: u64,
}

#[urom_command(plugin = "p", version = 1)]
fn command() -> Command {
    Command { value: 1 }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
