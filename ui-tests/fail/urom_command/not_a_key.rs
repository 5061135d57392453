//! Something that is no key.

use urom_abi::{urom_command, urom_notification};

#[urom_command("p", plugin = "p", version = 1)]
enum Command {
    #[urom(reply(Done), reply = Done)]
    Work { value: u64 },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
