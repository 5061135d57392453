//! A notification that exceeds the default message limit, and one that just fits it.

use urom_abi::urom_notification;

#[urom_notification]
enum Notification {
    Done { value: [u8; 4057] },
}

mod fits {
    #[urom_abi::urom_notification]
    enum Notification {
        Done { value: [u8; 4056] },
    }
}

fn main() {}
