//! Elements are not checked one by one, so any bytes must be a value of them.

use urom_abi::{Elements, Payload, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        #[urom(inline)]
        flags: Elements<'a, bool>,
        #[urom(inline)]
        letters: Option<Elements<'a, char>>,
    },
}

#[urom_notification]
enum Notification {
    Done {
        #[urom(inline)]
        flags: Payload<bool>,
    },
}

fn main() {}
