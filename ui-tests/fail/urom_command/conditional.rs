//! A layout that depends on the build.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[cfg(unix)]
        value: u64,
    },
    #[cfg(unix)]
    #[urom(reply = Done)]
    Rest,
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
