//! Variants whose items would clash.

use urom_abi::urom_notification;

#[urom_notification]
enum Notification {
    Done,
    DoneEcho,
    Notification,
}

fn main() {}
