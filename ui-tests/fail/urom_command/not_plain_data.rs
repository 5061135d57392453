//! Fields and elements whose bytes are not plain data, and a field without a zero value.

use urom_abi::{Elements, Payload, urom_command, urom_notification};

struct Neither(bool);
struct Flags(Neither);
#[derive(Clone, Copy, zerocopy::TryFromBytes, zerocopy::IntoBytes, zerocopy::Immutable)]
#[repr(u8)]
enum Kind {
    One = 1,
}
#[derive(Clone, Copy)]
#[repr(u8)]
enum Bare {
    One = 1,
}

#[urom_command(plugin = "p", version = 1)]
enum Command<'a> {
    #[urom(reply = Done)]
    Work {
        flag: u64,
        #[urom(inline)]
        values: Elements<'a, Neither>,
        #[urom(inline, addr = none, len = 3, when = flag == 1)]
        maybe: Option<Elements<'a, Flags>>,
    },
    #[urom(reply = Done)]
    Fields {
        value: Flags,
        bare: Bare,
        #[urom(optional)]
        kind: Kind,
        later: u8,
    },
}

#[urom_notification]
enum Notification {
    Done {
        flag: u64,
        #[urom(inline)]
        values: Payload<Neither>,
    },
    Other {
        flag: u64,
        #[urom(inline)]
        values: Payload<Flags>,
        #[urom(inline, addr = none, len = flag, when = values.is_empty())]
        maybe: Option<Payload<Kind>>,
    },
}

fn main() {}
