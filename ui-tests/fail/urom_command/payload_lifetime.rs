//! Payloads that borrow from nowhere.

use urom_abi::{Elements, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Undeclared {
        #[urom(inline)]
        bytes: &'a [u8],
    },
}

mod elided {
    use super::Elements;

    #[urom_abi::urom_command(plugin = "p", version = 1, notification = super::Notification)]
    enum Command<'m> {
        #[urom(reply = super::Done)]
        Work {
            #[urom(inline)]
            bytes: &[u8],
            #[urom(inline)]
            elements: Option<Elements<u16>>,
            #[urom(inline)]
            forever: &'static [u8],
            #[urom(inline)]
            right: &'m [u8],
        },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
