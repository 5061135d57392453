//! What says whether a payload is there, and does not fit its type.

use urom_abi::{Data, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        flag: u8,
        #[urom(inline, when = flag == 1)]
        always: &'a [u8],
        #[urom(inline, addr = none)]
        nowhere: Option<&'a [u8]>,
        #[urom(inline)]
        either: Data<'a>,
        #[urom(inline, unless = first)]
        inline: &'a [u8],
        #[urom(inline, unless = second)]
        maybe: Option<Data<'a>>,
        #[urom(word)]
        first: u64,
        #[urom(word)]
        second: u64,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
