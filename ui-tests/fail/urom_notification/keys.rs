//! Keys that only commands have.

use urom_abi::urom_notification;

#[urom_notification(plugin = "p")]
enum Notification {
    #[urom(reply = Other)]
    Done {
        #[urom(tag = 1)]
        value: u64,
    },
}

fn main() {}
