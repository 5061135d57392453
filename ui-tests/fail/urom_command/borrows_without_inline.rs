//! Values that borrow though they are no payloads.

use urom_abi::{urom_command, urom_notification};

struct View<'a>(&'a u8);

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        plain: View<'a>,
        #[urom(with = text)]
        coded: &'a str,
        #[urom(inline)]
        bytes: &'a [u8],
    },
}

mod text {}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
