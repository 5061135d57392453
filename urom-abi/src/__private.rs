//! Items for generated code only, under a short path. May change in any version.

pub use core::clone::Clone;
pub use core::convert::{AsRef, From, Into};
pub use core::fmt;
pub use core::future::IntoFuture;
pub use core::ops::FnOnce;
pub use core::option::Option::{self, None, Some};
pub use core::primitive::{bool, str, u8, u16, u32, u64, usize};
pub use core::result::Result::{self, Err, Ok};
pub use core::time::Duration;

pub use crate::ConnectionId;
pub use crate::describe::build::{
    Layout, WORD, address, assert_fits, compare, echo, given, known, layout, length, offsets,
    placed, plain, selector, ty, when,
};
pub use crate::describe::{
    Count as PayloadCount, Described, Enum, EnumValue, Field as Item, IsAnything, IsNumber,
    Messages, NotDescribed, Payload as PayloadItem, Presence, Probe, Protocol as Description, Sign,
    Struct, StructField, Term, Type, TypeOf, Variant, constant,
};
pub use crate::protocol::{
    Answer, AnswerBuffer, Answered, AnsweredBy, Armed, Awaited, FilledIn, HostSide, Incoming,
    PeerMessage, PeerMessages, PluginSide, Protocol, Reply, Request, Serve, Submitted, Task,
};
#[cfg(feature = "test-util")]
pub use crate::test_util::arbitrary;
pub use crate::wire::Field as At;
pub use crate::wire::*;

pub const COMMAND_HEADER: usize = size_of::<crate::plugin::WorkerCmd>();
pub const NOTIFICATION_HEADER: usize = size_of::<crate::plugin::WorkerNotify>();
