//! Payloads whose length, presence, words or lifetimes are wrong.

use urom_abi::{Data, Elements, urom_command, urom_notification};

mod payload_lifetime {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command {
        #[urom(reply = Done)]
        Undeclared {
            #[urom(inline)]
            bytes: &'a [u8],
        },
    }

    mod elided {
        use super::Elements;

        #[urom_abi::urom_command(plugin = "p", version = 1, notification = super::Notification)]
        enum Command<'m> {
            #[urom(reply = super::Done)]
            Work {
                #[urom(inline)]
                bytes: &[u8],
                #[urom(inline)]
                elements: Option<Elements<u16>>,
                #[urom(inline)]
                forever: &'static [u8],
                #[urom(inline)]
                right: &'m [u8],
            },
        }
    }
}

mod second_lifetime {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command<'a, 'b> {
        #[urom(reply = Done)]
        Work {
            #[urom(inline)]
            first: &'a [u8],
            #[urom(inline)]
            second: &'b [u8],
        },
    }
}

mod words_lengths_and_presence {
    use super::*;

    #[urom_command(plugin = "p", version = 1)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Lengths {
            count: u64,
            #[urom(inline, len = count)]
            array: &'a [u8; 4],
            #[urom(inline, unless = memh_id, len = count)]
            data: Data<'a>,
            #[urom(inline, unless = other, addr = none)]
            registered: Data<'a>,
            #[urom(word)]
            memh_id: u64,
            #[urom(word)]
            other: u64,
        },
        #[urom(reply = Done)]
        Presence {
            flag: u8,
            #[urom(inline, when = flag == 1)]
            always: &'a [u8],
            #[urom(inline, addr = none)]
            nowhere: Option<&'a [u8]>,
            #[urom(inline)]
            either: Data<'a>,
            #[urom(inline, unless = first)]
            inline: &'a [u8],
            #[urom(inline, unless = second)]
            maybe: Option<Data<'a>>,
            #[urom(word)]
            first: u64,
            #[urom(word)]
            second: u64,
        },
        #[urom(reply = Done)]
        OutOfReach {
            #[urom(inline, len = later.len())]
            first: &'a [u8],
            #[urom(inline, when = !itself.is_empty())]
            itself: Option<&'a [u8]>,
            #[urom(inline)]
            later: &'a [u8],
            #[urom(inline, len = count / 2)]
            half: &'a [u8],
            #[urom(word)]
            count: u64,
        },
        #[urom(reply = Done)]
        Alone {
            #[urom(word)]
            count: u64,
        },
        #[urom(reply = Done)]
        Shared {
            #[urom(inline, len = count)]
            first: &'a [u8],
            #[urom(inline, len = count)]
            second: &'a [u8],
            #[urom(inline, addr = start, len = start)]
            third: &'a [u8],
            #[urom(word)]
            count: u64,
            #[urom(word)]
            start: u64,
        },
        #[urom(reply = Done)]
        Misnamed {
            #[urom(inline, addr = adress)]
            bytes: &'a [u8],
            #[urom(inline, addr = value, len = cuont)]
            more: &'a [u8],
            #[urom(inline, unless = value)]
            data: Data<'a>,
            value: u64,
        },
        #[urom(reply = Done)]
        Odd {
            #[urom(inline, addr = signed, len = float)]
            bytes: &'a [u8],
            #[urom(word)]
            signed: i64,
            #[urom(word)]
            float: f64,
        },
    }
}

#[urom_notification]
enum Notification {
    Done,
}

fn main() {}
