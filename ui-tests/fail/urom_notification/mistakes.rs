//! Mistakes that only a notification can have.

use urom_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};

mod also {
    use super::*;

    #[urom_notification(tag = u8)]
    enum Notification {
        #[urom(also = 0)]
        Same,
        #[urom(also = 256)]
        TooWide,
        #[urom(also = "one")]
        Text,
    }
}

mod item_names {
    use super::*;

    #[urom_notification]
    enum Notification {
        Done,
        DoneEcho,
        Notification,
    }
}

mod lifetime {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work,
    }

    #[urom_notification]
    enum Notification<'a> {
        Done {
            #[urom(inline)]
            bytes: &'a [u8],
        },
    }
}

mod not_an_enum {
    use super::*;

    #[urom_notification]
    mod notification {}

    #[urom_notification]
    trait Notification {}
}

mod keys_payloads_and_types {
    use super::*;

    #[urom_notification(plugin = "p")]
    enum Notification {
        #[urom(reply = Other)]
        Done {
            #[urom(tag = 1)]
            value: u64,
            #[urom(echo)]
            context: usize,
            flag: core::primitive::isize,
        },
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
}

fn main() {}
