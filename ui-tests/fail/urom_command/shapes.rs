//! Items that cannot be a protocol.

use urom_abi::{urom_command, urom_notification};

mod no_variants {
    #[urom_abi::urom_command(plugin = "p", version = 1)]
    enum Command {}
}

mod not_an_enum {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    struct Command {
        value: u64,
    }

    #[urom_command(plugin = "p", version = 1)]
    fn command() -> Command {
        Command { value: 1 }
    }
}

mod generic_message {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command<T, const N: usize> {
        #[urom(reply = Done)]
        Work { value: T, values: [u8; N] },
    }
}

mod unnamed_and_conditional {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Unnamed(u64, #[urom(echo)] u64),
        #[urom(reply = Done)]
        Work {
            #[cfg(unix)]
            value: u64,
        },
        #[cfg(unix)]
        #[urom(reply = Done)]
        Rest,
        #[urom(reply = Done)]
        Later {
            #[cfg_attr(unix, urom(optional))]
            key: u64,
            #[cfg_attr(unix, cfg(any()))]
            gone: u64,
            #[cfg_attr(unix, doc = "What does not touch the bytes may depend on anything.")]
            documented: u64,
        },
    }
}

mod header {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        First {
            #[urom(header)]
            worker: u64,
            #[urom(header)]
            flags: u32,
            value: u64,
        },
        #[urom(reply = Done)]
        Late {
            #[urom(header)]
            worker: u64,
            value: u64,
            #[urom(header)]
            flags: u32,
        },
        #[urom(reply = Done)]
        Differs {
            #[urom(header)]
            worker: u32,
            #[urom(header)]
            flags: u32,
        },
        #[urom(reply = Done)]
        Lacks {
            #[urom(header)]
            worker: u64,
        },
        #[urom(reply = Done)]
        Nothing,
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
