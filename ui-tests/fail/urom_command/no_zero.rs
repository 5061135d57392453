//! What nobody sets is zero, so a field that need not be set has a value of zeros.

use urom_abi::{urom_command, urom_notification};

#[derive(Clone, Copy, zerocopy::TryFromBytes, zerocopy::IntoBytes, zerocopy::Immutable)]
#[repr(u8)]
enum Kind {
    One = 1,
}

#[urom_command(plugin = "p", version = 1)]
enum Command {
    #[urom(reply = Done)]
    Work {
        #[urom(optional)]
        kind: Kind,
    },
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
