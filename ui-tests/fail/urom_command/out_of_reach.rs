//! Fields that are not known where an expression needs them.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        #[urom(inline, len = later.len())]
        first: &'a [u8],
        #[urom(inline, when = !itself.is_empty())]
        itself: Option<&'a [u8]>,
        #[urom(inline)]
        later: &'a [u8],
        #[urom(inline, len = count / 2)]
        half: &'a [u8],
        #[urom(word)]
        count: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
