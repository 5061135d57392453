//! What cannot be a payload of a command.

use urom_abi::{Elements, Payload, Received, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        #[urom(inline)]
        number: u64,
        #[urom(inline)]
        text: &'a [char],
        #[urom(inline)]
        owned: Payload,
        #[urom(inline, addr = none, when = true)]
        maybe: Option<Received>,
        #[urom(inline)]
        wide: &'a [u16],
        #[urom(inline)]
        fixed: &'a [u32; 4],
        #[urom(inline)]
        sized: Elements<'a, usize>,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
