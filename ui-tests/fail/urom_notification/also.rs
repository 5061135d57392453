//! Second tags that are none.

use urom_abi::urom_notification;

#[urom_notification(tag = u8)]
enum Notification {
    #[urom(also = 0)]
    Same,
    #[urom(also = 256)]
    TooWide,
    #[urom(also = "one")]
    Text,
}

fn main() {}
