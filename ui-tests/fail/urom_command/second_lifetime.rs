//! One lifetime too many.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a, 'b> {
    #[urom(reply = Done)]
    Work {
        #[urom(inline)]
        first: &'a [u8],
        #[urom(inline)]
        second: &'b [u8],
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
