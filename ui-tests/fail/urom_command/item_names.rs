//! Variants whose items would clash.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Command,
    #[urom(reply = Done)]
    Client,
    #[urom(reply = Done)]
    Work,
    #[urom(reply = Done)]
    WorkTask,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
