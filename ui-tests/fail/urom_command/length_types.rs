//! Lengths that are not numbers, and fields that a length cannot use.

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        ratio: f64,
        #[urom(inline, len = ratio)]
        float: &'a [u8],
        #[urom(inline, len = "four")]
        text: &'a [u8],
        #[urom(inline, addr = none, len = ratoi.to_bits())]
        misspelt: &'a [u8],
        #[urom(inline, when = ratio)]
        maybe: Option<&'a [u8]>,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
