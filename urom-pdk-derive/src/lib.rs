//! The macros behind [`urom-pdk`](https://docs.rs/urom-pdk), for writing DOCA UROM worker plugins.
//!
//! - [`macro@urom_command`], on the enum of commands, generates wire format, `Handler` and tasks.
//! - [`macro@urom_notification`], on the enum of its notifications, generates their wire format.
//! - [`macro@urom_plugin`], on `impl Handler for` a type, generates the plugin's two C functions.
//! - [`macro@urom_message`], on the enum of messages between plugins, generates their wire format.
//! - [`macro@Described`], on a struct or an enum in messages, describes its layout for C headers.
//!
//! Depend on `urom-abi`, which re-exports [`macro@urom_command`] and [`macro@urom_notification`],
//! and on `urom-pdk`, which re-exports [`macro@urom_plugin`] and [`macro@urom_message`], not on
//! this crate. The generated code uses absolute paths, so the user's crate may define its own
//! `Result`.

mod attrs;
mod described;
mod diagnostics;
mod expand;
mod fallback;
mod model;
mod names;
mod parse;
mod render;
mod tokens;
mod validate;

use proc_macro::TokenStream;

/// Defines a plugin's commands, and with them the whole protocol.
///
/// ```
/// use urom_abi::{Data, urom_command, urom_notification};
///
/// #[urom_command(plugin = "worker_sandbox", version = 1)]
/// pub enum Command<'a> {
///     /// Sends `data` to worker `dest` of the domain.
///     #[urom(reply = TagSent)]
///     TagSend {
///         #[urom(echo)]
///         context: u64,
///         dest: u64,
///         /// Travels with the command unless it is registered memory.
///         #[urom(inline, unless = memh_id, optional)]
///         data: Data<'a>,
///         tag: u64,
///         #[urom(word)]
///         memh_id: u64,
///     },
/// }
///
/// #[urom_notification]
/// pub enum Notification {
///     TagSent {
///         #[urom(echo)]
///         context: u64,
///     },
/// }
/// # fn main() {}
/// ```
///
/// On the wire, a message is C's `{ tag; header fields; union of structures }`, padded to the
/// largest variant, followed by its payloads, in order and without padding. Unset bytes are zero.
///
/// # Keys of the enum
///
/// - `plugin = "name"`: the plugin's name: its file name without `.so`, at most 47 bytes; required.
/// - `version = 1`: the result of `urom_plugin_get_version`, equal in host and plugin; required.
/// - `notification = Path`: the `#[urom_notification]` enum; the default is `Notification`.
/// - `tag = u32`: the tag's type: `u8`, `u16`, `u32` or `u64`; the default is `u64`.
/// - `crate = path`: the path of `urom-abi`; the default is `::urom_abi`.
///
/// An enum with payloads has one lifetime, which they borrow for, and no other parameter. Derives
/// stand below the macro, and also apply to the structures that support them.
///
/// # Keys of a variant, in `#[urom(...)]`
///
/// - `reply = Variant`: the notification that answers; required, only for commands.
/// - `tag = 7`: the tag; the default is one more than the previous variant's, from 0.
/// - `also = 1`: only for notifications: a second tag, accepted on reading, never written.
///
/// # Keys of a field, in `#[urom(...)]`
///
/// - no key: the field is sent as its own bytes: a number or a `bytemuck::Pod` structure; or,
///   checked on reading, a `bool`, `char` or `zerocopy::TryFromBytes` type; or an array of these.
/// - `echo`: the answer repeats it, in the notification's echoed field of the same name.
/// - `header`: between tag and union; header fields come first, the same in every variant.
/// - `optional`: a setter of the task instead of an argument; zero, empty or absent unless set.
///   `echo` implies it. An enum in such a field needs a value that is 0.
/// - `with = module`: the field is sent as a `module::Wire`, through `module::encode(&T) -> Wire`
///   and `module::decode(Wire) -> Result<T, &'static str>`.
/// - `inline`: the field is a payload: see below.
/// - `word`: a wire word that a payload fills, of type `u8` to `u64`. It has a position but no
///   value: the enum, the structures and the client omit it.
///
/// # Payloads
///
///  type | in | length |
/// | --- | --- | --- |
/// | `&'a [u8]` | commands | counted in bytes |
///  `&'a [u8; N]` | commands | `N`, without a length word |
/// | `&'a str` | commands | counted in bytes, which are UTF-8 |
/// | `Elements<'a, T>` | commands | counted in elements; any plain `T` |
/// | `Data<'a>` | commands | bytes, or registered memory; needs `unless` |
/// | `Payload`, `Payload<T>` | notifications | counted in elements |
///  `Received` | notifications | bytes, or the number received into registered memory |
/// | `Option` of any but `Data` and `Received` | both | |
///
/// The macro matches these names and does not resolve aliases.
///
/// At its position, the structure has an address and a length word (`u64`) as in C, unless changed:
///
/// - `addr = none`: omits the address word.
/// - `addr = name`, `len = name`: the word is the field `name`, marked `word`.
/// - `addr = a.b`, `len = a.b`: the word is a member of the plain field `a`, filled in on writing.
/// - `len = expression`: other fields give the length, checked on writing; no length word.
/// - `when = expression`: the `Option` is present exactly when this holds, checked on writing.
/// - `unless = name`: the `Data` is inline when the word `name` is 0, or in this registered memory.
///
/// Each length word belongs to one payload. A second payload of the same length needs an
/// expression: `len = keys.len()`. `len = name` only reads the field `name` unless it is marked
/// `word`.
///
/// An `Option` without `when` is present when its address word is not 0. When written, this word is
/// 1 for a present `Option` or `Received`, even if empty, and for any other payload with bytes;
/// otherwise 0. For a `Data` in registered memory, the word is its address there.
///
/// An expression can use all plain, header and echoed fields of its variant and the payloads before
/// its own, each by its name and by value; a field with a codec is a reference, and a
/// notification's payload is an `Elements`. A `len` is any integer or an `Option` of one.
/// Expressions work on numbers from a peer, so operators and methods that can panic or overflow are
/// refused: use `Option` methods such as `checked_mul`. Your own functions and macros are not
/// checked. A member is an expression in parentheses: `len = (a.b)`.
///
/// ```
/// # use urom_abi::{urom_command, urom_notification};
/// # #[urom_notification]
/// # pub enum Notification { Collected {} }
/// /// Eight bytes for each member of the team.
/// fn counts_len(team_size: u64) -> Option<u64> {
///     team_size.checked_mul(8)
/// }
///
/// #[urom_command(plugin = "worker_ucc", version = 1)]
/// pub enum Command<'a> {
///     #[urom(reply = Collected)]
///     Collect {
///         /// `ucc_coll_args_t`.
///         #[urom(inline)]
///         args: &'a [u8; 200],
///         has_counts: u64,
///         team_size: u64,
///         #[urom(inline, addr = none, len = counts_len(team_size), when = has_counts == 1)]
///         counts: Option<&'a [u8]>,
///     },
/// }
/// # fn main() {}
/// ```
///
/// # Generated items
///
/// For a variant `TagSend`: the structure `TagSend` (with `decode`, `Request`, and `From<TagSend>`
/// for the enum), the host's task `TagSendTask`, the client's method `task_tag_send`, and the
/// handler's method `tag_send`. A variant with payloads has a structure with a lifetime. For the
/// enum: `decode`, `encode`, `encoded_len`, `FIXED_LEN`. For the module: the type `Protocol`, the
/// trait `Handler` and the type `Client`. A module therefore has only one enum of commands.
///
/// A client's method takes every field except the optional ones. A payload argument is any `Into`
/// of its type: `&[1u16, 2]` for `Elements<u16>`, `b"data"` for `Data`.
///
/// Errors point to the mistake; messages that can never be sent do not compile either.
#[proc_macro_attribute]
pub fn urom_command(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Command, args.into(), item.into()).into()
}

/// Defines a plugin's notifications, which answer its commands.
///
/// ```
/// # #[urom_abi::urom_command(plugin = "worker_sandbox", version = 1)]
/// # pub enum Command {
/// #     #[urom(reply = TagReceived)]
/// #     TagReceive { #[urom(echo)] context: u64, size: u64 },
/// # }
/// use urom_abi::{Received, urom_notification};
///
/// #[urom_notification]
/// pub enum Notification {
///     /// Answers a receive.
///     TagReceived {
///         #[urom(echo)]
///         context: u64,
///         #[urom(inline)]
///         data: Received,
///         status: i8,
///     },
/// }
/// # fn main() {}
/// ```
///
/// The enum's keys are `tag` and `crate`. A variant's are `tag` and `also`, a field's all except
/// `optional` and `unless`: see [`macro@urom_command`]. Payloads are owned, without a lifetime.
///
/// For a variant `TagReceived` it generates the structure `TagReceived` of all fields that are not
/// echoed: a handler returns it, and a host's task resolves to it. The plugin's side fills the
/// echoed fields in from the command, the host's side compares them. For the enum it generates
/// `decode`, `encode`, `encoded_len`, `FIXED_LEN`.
///
/// # Payloads without copies
///
/// On the plugin's side, a notification with one payload has a function `payload`:
/// `TagReceived::payload(4096)?` allocates memory with a fixed part, which becomes the notification
/// without a copy. On the host's side, a payload is the task's receive buffer. The task stays in
/// use until the payload is dropped, so drop it soon or copy it.
#[proc_macro_attribute]
pub fn urom_notification(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Notification, args.into(), item.into()).into()
}

/// Generates the plugin of a handler.
///
/// ```
/// # mod graph_protocol {
/// #     #[urom_abi::urom_command(plugin = "worker_graph", version = 1)]
/// #     pub enum Command { #[urom(reply = LoopbackDone)] Loopback { data: u64 } }
/// #     #[urom_abi::urom_notification]
/// #     pub enum Notification { LoopbackDone { data: u64 } }
/// # }
/// use graph_protocol::{Handler, Loopback, LoopbackDone};
/// use urom_pdk::prelude::*;
///
/// struct Graph;
///
/// #[urom_plugin]
/// impl Handler for Graph {
///     fn open(_: &OpenContext) -> Result<Self> {
///         Ok(Graph)
///     }
///
///     async fn loopback(&self, _: &Context, cmd: Loopback) -> Result<LoopbackDone> {
///         Ok(LoopbackDone { data: cmd.data })
///     }
/// }
/// # fn main() {}
/// ```
///
/// It fills in the trait's side (`Handler` becomes `Handler<urom_pdk::Side>`) and exports
/// `urom_plugin_get_iface` and `urom_plugin_get_version`, which a worker looks up. Only the plugin
/// itself may contain them: give the crate `crate-type = ["cdylib"]` alone, and use one
/// `#[urom_plugin]` in it. Builds of the crate's own tests have no exports.
///
/// The file contains the protocol's `DESCRIPTION` and build details in a read-only section,
/// readable without loading it. See `urom_abi::describe::section`.
///
/// - `export = false`: omits the exports, for several handlers in one test crate.
/// - `abort = "allowed"`: accepts a build with `panic = "abort"`, where a panic ends the worker.
/// - `peers = field`: the handler's `PeerWorker`, for the methods `address`, `progress` and `arm`.
/// - `crate = path`: the path of `urom-pdk`; the default is `::urom_pdk`.
#[proc_macro_attribute]
pub fn urom_plugin(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::plugin(args.into(), item.into()).into()
}

/// Describes a plain structure or fieldless enum for C headers, `cargo urom` and errors.
///
/// ```
/// #[repr(C)]
/// #[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable, urom_abi::Described)]
/// pub struct Segment {
///     /// Where it begins.
///     pub address: u64,
///     /// How many bytes it has.
///     pub len: u64,
/// }
/// ```
///
/// It implements `urom_abi::describe::Described`: name, size, alignment, and each field's name,
/// offset, type and documentation. A `#[repr(transparent)]` structure is described as its field. An
/// enum has one of the `repr`s `u8` to `u64` and `i8` to `i64`, and is described by its values.
/// `#[urom(crate = path)]` sets the path of `urom-abi`; the default is `::urom_abi`.
#[proc_macro_derive(Described, attributes(urom))]
pub fn described(item: TokenStream) -> TokenStream {
    described::described(item.into()).into()
}

/// Defines the messages between the plugins of several workers.
///
/// ```
/// use urom_pdk::urom_message;
///
/// #[urom_message(version = 1)]
/// #[derive(Debug, PartialEq)]
/// pub enum Message<'a> {
///     /// A part of call number `call`. The bytes travel as the message's data.
///     Part { call: u64, from: u32, at: u64 },
///     /// The sender has given the call up.
///     Failed {
///         call: u64,
///         #[urom(inline)]
///         why: &'a str,
///     },
/// }
/// # fn main() {}
/// ```
///
/// A message is encoded like a command: the rules of [`macro@urom_command`] for tags, fields and
/// payloads apply. The keys of the enum are `version` (required), `tag`, and `crate`, the path of
/// `urom-pdk`. Variants have `tag`; fields have no `echo`, `optional` or `unless`.
///
/// It generates a structure with `decode` for each variant; `decode`, `encode`, `encoded_len` and
/// `FIXED_LEN` of the enum; and `urom_abi::protocol::PeerMessage`, for `urom_pdk::peers::Peer`.
#[proc_macro_attribute]
pub fn urom_message(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Message, args.into(), item.into()).into()
}

#[cfg(test)]
mod tests;
