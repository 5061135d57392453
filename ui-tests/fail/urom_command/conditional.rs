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
    #[urom(reply = Done)]
    Later {
        #[cfg_attr(unix, urom(optional))]
        key: u64,
        #[cfg_attr(unix, cfg(any()))]
        gone: u64,
        #[cfg_attr(unix, doc = "What does not touch the bytes may depend on anything.")]
        documented: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
