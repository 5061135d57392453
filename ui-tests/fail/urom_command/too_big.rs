//! Messages over the default limit, messages that just fit, and elements without bytes.

use urom_abi::{Elements, Payload, urom_command, urom_notification};

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work { value: [u8; 4065] },
}

#[urom_notification]
enum Notification {
    Done { value: [u8; 4057] },
}

mod fits {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: [u8; 4064] },
    }

    #[urom_abi::urom_notification]
    enum Notification {
        Done { value: [u8; 4056] },
    }
}

mod payloads {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Fits {
            #[urom(inline, addr = none)]
            array: &'a [u8; 4064],
        },
        #[urom(reply = Done)]
        TooBig {
            #[urom(inline, addr = none)]
            array: &'a [u8; 65],
            #[urom(inline, addr = none, len = 1000)]
            elements: Elements<'a, u32>,
        },
        #[urom(reply = Done)]
        Nothing {
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
}

fn main() {}
