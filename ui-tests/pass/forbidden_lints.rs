//! A crate can forbid every lint that its own code keeps: what the macros make needs no exception from any of them.

#![forbid(warnings, unused, dead_code, deprecated, non_snake_case, non_upper_case_globals, non_camel_case_types)]
#![forbid(unreachable_patterns, unused_variables, unused_mut, async_fn_in_trait, missing_docs, unsafe_op_in_unsafe_fn)]
#![forbid(unreachable_pub, unused_qualifications, unused_results, single_use_lifetimes, missing_debug_implementations)]
#![forbid(clippy::all, clippy::pedantic, clippy::allow_attributes, clippy::allow_attributes_without_reason)]

/// Public.
pub mod protocol {
    use urom_abi::{Elements, Payload, urom_command, urom_notification};

    /// Asks.
    #[urom_command(plugin = "worker_k", version = 1)]
    #[derive(Debug, Clone, Copy)]
    pub enum Command<'a> {
        /// Puts.
        #[urom(reply = Done)]
        Put {
            /// How many.
            count: u64,
            /// What, as often as `count` says. A method has the name of another field.
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
    }
}

/// Of this nobody uses anything.
mod unused {
    use urom_abi::{Data, Received, urom_command, urom_notification};

    #[urom_command(plugin = "worker_k", version = 1)]
    #[derive(Debug)]
    enum Command<'a> {
        #[urom(reply = Done)]
        Put {
            #[urom(echo)]
            context: u64,
            flag: bool,
            #[urom(inline, unless = id)]
            data: Data<'a>,
            #[urom(word)]
            id: u64,
        },
        #[urom(reply = Gone)]
        Stop,
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

use protocol::{Done, Handler, Put};
use urom_abi::Payload;
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
}

fn main() {}
