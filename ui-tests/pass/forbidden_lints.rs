//! A crate can forbid every lint: generated code needs no exceptions.

#![forbid(warnings, unused, dead_code, deprecated, non_snake_case, non_upper_case_globals, non_camel_case_types)]
#![forbid(unreachable_patterns, unused_variables, unused_mut, async_fn_in_trait, missing_docs, unsafe_op_in_unsafe_fn)]
#![forbid(unreachable_pub, unused_qualifications, unused_results, single_use_lifetimes, missing_debug_implementations)]
#![forbid(clippy::all, clippy::pedantic, clippy::allow_attributes, clippy::allow_attributes_without_reason)]

/// Public.
pub mod protocol {
    use urom_abi::{Data, Elements, Payload, Received, urom_command, urom_notification};

    /// A codec.
    pub mod codec {
        /// On the wire.
        pub type Wire = u8;

        /// Always 1.
        #[must_use]
        pub const fn encode(_: &bool) -> Wire {
            1
        }

        /// Never fails.
        ///
        /// # Errors
        /// Never.
        pub const fn decode(wire: Wire) -> Result<bool, &'static str> {
            if wire < 2 { Ok(wire == 1) } else { Err("is not a truth") }
        }
    }

    /// Asks.
    #[urom_command(plugin = "worker_k", version = 1)]
    #[derive(Debug, Clone, Copy)]
    pub enum Command<'a> {
        /// Puts.
        #[urom(reply = Done)]
        Put {
            /// How many.
            count: u64,
            /// `count` values. A method has the name of another field.
            #[urom(inline, addr = none, len = count.min(8), when = matches!(count, 1..9))]
            values: Option<Elements<'a, u32>>,
            /// One of seven and more arguments.
            min: u8,
            /// Another.
            a: u8,
            /// Another.
            b: u8,
            /// Another.
            f: bool,
        },
        /// With everything else.
        #[urom(reply = Worked)]
        Work {
            /// Echoed.
            #[urom(echo)]
            context: u64,
            /// Two arms.
            #[urom(inline, unless = memh_id)]
            data: Data<'a>,
            /// Its word.
            #[urom(word)]
            memh_id: u64,
            /// With a codec.
            #[urom(with = codec, optional)]
            truth: bool,
        },
    }

    /// Answers.
    #[urom_notification]
    #[derive(Debug)]
    pub enum Notification {
        /// Done.
        Done {
            /// What.
            #[urom(inline)]
            data: Payload,
        },
        /// Worked.
        Worked {
            /// Echoed.
            #[urom(echo)]
            context: u64,
            /// Received.
            #[urom(inline)]
            data: Received,
            /// As long.
            #[urom(inline, len = context)]
            more: Payload<u32>,
        },
    }
}

/// Unused items.
mod unused {
    use urom_abi::{Data, Received, urom_command, urom_notification};

    #[urom_command(plugin = "worker_k", version = 1, tag = u32)]
    #[derive(Debug)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            #[urom(header)]
            worker: u64,
            #[urom(echo)]
            context: u64,
            flag: bool,
            #[urom(inline, unless = id)]
            data: Data<'a>,
            #[urom(word)]
            id: u64,
        },
        #[urom(reply = Gone)]
        Stop { #[urom(header)] worker: u64 },
    }

    #[urom_notification]
    #[derive(Debug)]
    enum Notification {
        Done {
            #[urom(echo)]
            context: u64,
            #[urom(inline)]
            data: Received,
            done: u8,
        },
        Gone,
    }
}

use protocol::{Done, Handler, Put, Work, Worked};
use urom_abi::{Payload, Received};
use urom_pdk::prelude::*;

struct Plugin;

#[urom_plugin]
impl Handler for Plugin {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Plugin)
    }

    async fn put(&self, _: &Context, cmd: Put<'_>) -> Result<Done> {
        Ok(Done { data: Payload::from(&[cmd.a]) })
    }

    async fn work(&self, _: &Context, _: Work<'_>) -> Result<Worked> {
        Ok(Worked { data: Received::Registered { len: 0 }, more: Payload::default() })
    }
}

fn main() {}
