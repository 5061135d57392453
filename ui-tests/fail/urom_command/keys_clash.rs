//! Keys that exclude each other.

use urom_abi::{Data, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        #[urom(inline, echo)]
        echoed: &'a [u8],
        #[urom(inline, header)]
        header: &'a [u8],
        #[urom(inline, with = codec)]
        coded: &'a [u8],
        #[urom(with = codec, echo)]
        coded_and_echoed: u64,
        #[urom(inline, len = odd)]
        described: &'a [u8],
        #[urom(word, optional)]
        odd: u64,
        #[urom(inline, unless = memh_id, when = true)]
        data: Data<'a>,
        #[urom(word)]
        memh_id: u64,
    },
}

mod codec {}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
