//! Payloads that a notification cannot have.

use urom_abi::{Data, Elements, Payload, Received, urom_notification};

#[urom_notification]
enum Notification {
    Borrows {
        #[urom(inline)]
        bytes: &'static [u8],
        #[urom(inline)]
        elements: Elements<'static, u16>,
        #[urom(inline)]
        maybe: Option<Data<'static>>,
    },
    NotInline {
        payload: Payload,
        received: Received,
        maybe: Option<Payload<u16>>,
    },
    Odd {
        #[urom(inline)]
        number: u64,
        #[urom(inline)]
        sized: Payload<usize>,
        flag: u64,
        #[urom(inline, when = flag == 1)]
        twice: Option<Received>,
    },
}

fn main() {}
