//! Elements of payloads that have no bytes, so that nothing could count them.

use urom_abi::{Elements, Payload, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        #[urom(inline)]
        values: Elements<'a, [u8; 0]>,
    },
}

#[urom_notification]
enum Notification {
    Done {
        #[urom(inline)]
        values: Payload<()>,
        #[urom(inline)]
        maybe: Option<Payload<[u64; 0]>>,
    },
}

fn main() {}
