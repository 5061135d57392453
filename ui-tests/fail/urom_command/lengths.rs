//! Lengths that a payload cannot have.

use urom_abi::{Data, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        count: u64,
        #[urom(inline, len = count)]
        array: &'a [u8; 4],
        #[urom(inline, unless = memh_id, len = count)]
        data: Data<'a>,
        #[urom(inline, unless = other, addr = none)]
        registered: Data<'a>,
        #[urom(word)]
        memh_id: u64,
        #[urom(word)]
        other: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
