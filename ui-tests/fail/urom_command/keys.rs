//! Keys of attributes that are unknown, missing, in the wrong place, or exclude each other.

use urom_abi::{Data, urom_command, urom_notification};

mod attribute_on_enum {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    #[urom(crate = urom_abi)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
    }
}

mod attribute_without_keys {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work {
            #[urom]
            value: u64,
            #[urom()]
            empty: u64,
        },
    }
}

mod bad_value {
    use super::*;

    #[urom_command(plugin = worker, version = "1")]
    enum Command {
        #[urom(reply = "Done")]
        Work { value: u64 },
    }
}

mod duplicate_key {
    use super::*;

    #[urom_command(plugin = "p", version = 1, version = 2)]
    enum Command {
        #[urom(reply = Done)]
        #[urom(reply = Done)]
        Work { value: u64 },
    }
}

mod flag_with_value {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work {
            #[urom(echo = true)]
            context: u64,
        },
    }

    #[urom_notification]
    enum Notification {
        Done {
            #[urom(echo)]
            context: u64,
        },
    }
}

mod key_needs_inline {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Work {
            count: u64,
            #[urom(len = count)]
            length: u64,
            #[urom(when = count == 0)]
            condition: u64,
            #[urom(addr = none)]
            address: u64,
            #[urom(unless = memh_id)]
            selector: u64,
            #[urom(word)]
            memh_id: u64,
        },
    }
}

mod key_without_value {
    use super::*;

    #[urom_command(plugin = "p", version)]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
        #[urom(reply)]
        Rest,
    }
}

mod keys_clash {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Work {
            #[urom(inline, echo)]
            echoed: &'a [u8],
            #[urom(inline, header)]
            header: &'a [u8],
            #[urom(inline, with = codec)]
            coded: &'a [u8],
            #[urom(with = codec, echo)]
            coded_and_echoed: u64,
            #[urom(inline, len = odd)]
            described: &'a [u8],
            #[urom(word, optional)]
            odd: u64,
            #[urom(inline, unless = memh_id, when = true)]
            data: Data<'a>,
            #[urom(word)]
            memh_id: u64,
        },
    }

    mod codec {}
}

mod misplaced_keys {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done, also = 1)]
        Work,
    }
}

mod missing_key {
    use super::*;

    #[urom_command]
    enum Command {
        #[urom(reply = Done)]
        Work { value: u64 },
    }
}

mod not_a_key {
    use super::*;

    #[urom_command("p", plugin = "p", version = 1)]
    enum Command {
        #[urom(reply(Done), reply = Done)]
        Work { value: u64 },
    }
}

mod unknown_key {
    use super::*;

    #[urom_command(plugin = "p", version = 1, plugins = "q")]
    enum Command {
        #[urom(replay = Other, reply = Done)]
        Work {
            #[urom(ecko)]
            value: u64,
        },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
