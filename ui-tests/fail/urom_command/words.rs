//! Words that no payload fills, or two, and fields that are none.

use urom_abi::{Data, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Alone {
        #[urom(word)]
        count: u64,
    },
    #[urom(reply = Done)]
    Shared {
        #[urom(inline, len = count)]
        first: &'a [u8],
        #[urom(inline, len = count)]
        second: &'a [u8],
        #[urom(inline, addr = place, len = place)]
        third: &'a [u8],
        #[urom(word)]
        count: u64,
        #[urom(word)]
        place: u64,
    },
    #[urom(reply = Done)]
    Misnamed {
        #[urom(inline, addr = adress)]
        bytes: &'a [u8],
        #[urom(inline, addr = value, len = cuont)]
        more: &'a [u8],
        #[urom(inline, unless = value)]
        data: Data<'a>,
        value: u64,
    },
    #[urom(reply = Done)]
    Odd {
        #[urom(inline, addr = signed, len = float)]
        bytes: &'a [u8],
        #[urom(word)]
        signed: i64,
        #[urom(word)]
        float: f64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
