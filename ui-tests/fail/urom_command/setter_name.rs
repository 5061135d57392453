//! An echoed field that would hide a method of the task.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(echo)]
        submit: u64,
    },
}

#[urom_notification]
enum Notification {
    Done {
        #[urom(echo)]
        submit: u64,
    },
}

fn main() {}
