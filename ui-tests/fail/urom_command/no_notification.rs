//! A notification enum without its attribute, and none at all.

use urom_abi::urom_command;

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: u64 },
}

enum Notification {
    Done,
}

mod nowhere {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
    }
}

fn main() {}
