//! Keys of attributes that are unknown, missing, misplaced, or exclude each other.

use urom_abi::{Data, urom_command, urom_notification};

mod of_the_enum {
    use super::*;

    #[urom_command("p", plugin = worker, version = "1", version = 2, plugins = "q")]
    #[urom(crate = urom_abi)]
    enum Command {
        #[urom(reply = Done)]
        Work,
    }
}

mod without_a_value {
    use super::*;

    #[urom_command(plugin = "p", version)]
    enum Command {
        #[urom(reply)]
        Work,
    }
}

mod missing {
    use super::*;

    #[urom_command]
    enum Command {
        #[urom(reply = Done)]
        Work,
    }
}

mod of_variants_and_fields {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command<'a> {
        #[urom(reply = "Done")]
        BadValue,
        #[urom(reply = Done)]
        #[urom(reply = Done)]
        Duplicate,
        #[urom(reply = Done, also = 1)]
        Misplaced,
        #[urom(reply(Done), reply = Done)]
        NoKey,
        #[urom(replay = Other, reply = Done)]
        Unknown {
            #[urom(ecko)]
            value: u64,
            #[urom]
            nothing: u64,
            #[urom()]
            empty: u64,
            #[urom(echo = true)]
            context: u64,
        },
        #[urom(reply = Done)]
        NeedsInline {
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
        #[urom(reply = Done)]
        Clash {
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

#[urom_notification]
enum Notification {
    Done {
        #[urom(echo)]
        context: u64,
    },
}

fn main() {}
