//! Types that mean something else on the other side, echoed or not.

use urom_abi::urom_notification;

#[urom_notification]
enum Notification {
    Done {
        #[urom(echo)]
        context: usize,
        flag: core::primitive::isize,
    },
}

fn main() {}
