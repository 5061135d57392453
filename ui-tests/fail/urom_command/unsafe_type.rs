//! Types that mean something else on the other side.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        length: usize,
        offset: [isize; 2],
        text: &'static str,
        address: *const u8,
        function: extern "C" fn(),
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
