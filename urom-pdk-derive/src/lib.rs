//! The macros behind [`urom-pdk`](https://docs.rs/urom-pdk), with which DOCA UROM worker plugins
//! are written.
//!
//! - [`macro@urom_command`] stands on the enum of a plugin's commands. It makes their wire format,
//!   the trait `Handler` of the plugin's side and the tasks of the host's.
//! - [`macro@urom_notification`] stands on the enum of its notifications, and makes their wire
//!   format.
//! - [`macro@urom_plugin`] stands on `impl Handler for` a type, and makes the two C functions that
//!   a worker looks for in a `.so`.
//! - [`macro@urom_message`] stands on the enum of the messages between plugins, and makes their
//!   wire format.
//! - [`macro@Described`] is derived for a struct or an enum that messages hold, and states its
//!   layout for C headers.
//!
//! `urom-abi` re-exports [`macro@urom_command`] and [`macro@urom_notification`], `urom-pdk`
//! re-exports [`macro@urom_plugin`] and [`macro@urom_message`]: depend on those and not on this crate. The generated code
//! names everything by absolute paths, so it works beside whatever the user's crate calls `Result`,
//! `Option` or `Ok`.

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

/// States a plugin's commands, and with them the whole protocol.
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
/// On the wire a message is C's `{ tag; header fields; union of structures }`, padded to the
/// largest variant, and behind that its payloads, in order and without padding. Bytes that nobody
/// set are zero.
///
/// # Keys of the enum
///
/// - `plugin = "name"`: the plugin's name: its file's name without `.so`, at most 47 bytes;
///   required.
/// - `version = 1`: what `urom_plugin_get_version` returns; host and plugin compare it for
///   equality; required.
/// - `notification = Path`: the `#[urom_notification]` enum; the default is `Notification`.
/// - `tag = u32`: the tag's type: `u8`, `u16`, `u32` or `u64`; the default is `u64`.
/// - `crate = path`: where `urom-abi` is found; the default is `::urom_abi`.
///
/// The enum has a lifetime when it has payloads, which borrow for it, and no other parameter.
/// Derives stand below the macro, and hold for the structures too where those can have them.
///
/// # Keys of a variant, in `#[urom(...)]`
///
/// - `reply = Variant`: the notification that answers; required, and only for commands.
/// - `tag = 7`: the tag; otherwise one more than the variant before, from 0.
/// - `also = 1`: only for notifications: a second tag, accepted when the variant is read as an
///   answer, never written.
///
/// # Keys of a field, in `#[urom(...)]`
///
/// - no key: it travels as its own bytes: a number, a `bytemuck::Pod` structure, or, checked on
///   reading, a `bool`, a `char`, and what derives `zerocopy`'s `TryFromBytes`, such as an enum
///   without fields; or an array of these.
/// - `echo`: the answer repeats it, in the notification's echoed field of the same name.
/// - `header`: it lies between tag and union; such fields come first and are the same in every
///   variant.
/// - `optional`: the client's method has no argument for it, and the task a setter; zero, empty or
///   absent unless set. `echo` implies it. An enum that is either has a value that is 0.
/// - `with = module`: it travels as a `module::Wire`, through `module::encode(&T) -> Wire` and
///   `module::decode(Wire) -> Result<T, &'static str>`.
/// - `inline`: it is a payload: see below.
/// - `word`: it is a word of the wire that a payload fills. It has a place and one of the types
///   `u8` to `u64`, and no value: it is left out of the enum, the structures and the client.
///
/// # Payloads
///
/// | type | in | its length |
/// | --- | --- | --- |
/// | `&'a [u8]` | commands | counted in bytes |
/// | `&'a [u8; N]` | commands | `N`, without a word for it |
/// | `&'a str` | commands | counted in bytes, which are UTF-8 |
/// | `Elements<'a, T>` | commands | counted in elements; any plain `T` |
/// | `Data<'a>` | commands | bytes, or registered memory; needs `unless` |
/// | `Payload`, `Payload<T>` | notifications | counted in elements |
/// | `Received` | notifications | bytes, or how many landed in registered memory |
/// | `Option` of any but `Data` and `Received` | both | |
///
/// The types are known by these names: an alias is not seen through.
///
/// Where the payload stands among the fields, the structure has the two words that C has there: an
/// address (`u64`), then a length (`u64`). These keys say otherwise:
///
/// - `addr = none`: there is no address word.
/// - `addr = name`, `len = name`: the word is the field `name`, which is marked `word`.
/// - `addr = a.b`, `len = a.b`: the word is a member of the plain field `a`; it is filled in when
///   the message is written.
/// - `len = expression`: other fields give the length: there is no word, and writing checks that
///   the payload has that length.
/// - `when = expression`: the payload, an `Option`, is there when this holds; writing checks that
///   it is there exactly then.
/// - `unless = name`: the `Data` travels with the command when the word `name` is 0, and otherwise
///   that is the id of registered memory.
///
/// Each length word belongs to one payload. If a second payload has the same length, say so with an
/// expression: `len = keys.len()`. `len = name` fills the field `name` if that is marked `word`;
/// otherwise the field is only read.
///
/// An `Option` without `when` is there when its address word is not 0. Written, the word of an
/// `Option` or a `Received` is 1 when it is there, also when it is empty, of any other payload 1
/// when it has bytes; otherwise 0. That of a `Data` in registered memory is its address there.
///
/// An expression sees all plain, header and echoed fields of its variant and the payloads before
/// its own, each by its name and by value; a field with a codec is a reference, a notification's
/// payload is seen as `Elements`. A `len` is any integer or an `Option` of one. Expressions work on
/// numbers that a peer sent, so operators and methods of theirs that can panic or overflow are
/// refused: use one that gives an `Option`, such as `checked_mul`. What a function or a macro of
/// yours does is yours to see to. A member is an expression in parentheses: `len = (a.b)`.
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
/// # What it makes, beside the enum
///
/// For a variant `TagSend`: the structure `TagSend` (with `decode`, `Request`, and `From<TagSend>`
/// for the enum), the host's task `TagSendTask` and the client's method `task_tag_send`, and the
/// handler's method `tag_send`. A variant with payloads has a structure with a lifetime. For the
/// enum: `decode`, `encode`, `encoded_len`, `FIXED_LEN`. For the module: the type `Protocol`, the
/// trait `Handler` and the type `Client`. So a module has one enum of commands: give a second one a
/// module of its own.
///
/// In a client's method every field is an argument but the optional ones. A payload is taken as any
/// `Into` of its type: `&[1u16, 2]` for `Elements<u16>`, `b"data"` for `Data`.
///
/// What is wrong is an error at the place where it is written; messages that can never be sent do
/// not compile either.
#[proc_macro_attribute]
pub fn urom_command(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Command, args.into(), item.into()).into()
}

/// States a plugin's notifications: what its commands are answered with.
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
/// The enum's keys are `tag` and `crate`. A variant's are `tag` and `also`, a field's all but
/// `optional` and `unless`: see [`macro@urom_command`]. The enum has no lifetime, because a
/// notification owns its payloads.
///
/// For a variant `TagReceived` it makes the structure `TagReceived` of all fields that are not
/// echoed: what a handler returns and what a host's task resolves to. The echoed ones are filled in
/// from the command on the plugin's side and compared with it on the host's. For the enum it makes
/// `decode`, `encode`, `encoded_len`, `FIXED_LEN`.
///
/// # Payloads without copies
///
/// On the plugin's side, a notification with one payload has a function `payload`:
/// `TagReceived::payload(4096)?` is memory behind a fixed part, which the notification becomes when
/// that payload is put into it. On the host's side, a payload is the memory that the task received
/// into. The task stays in use until the payload is dropped, so drop it soon or copy it.
#[proc_macro_attribute]
pub fn urom_notification(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Notification, args.into(), item.into()).into()
}

/// Makes the plugin of a handler.
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
/// It fills in the trait's side (`Handler` becomes `Handler<urom_pdk::Side>`) and exports the two
/// functions that a worker looks up, `urom_plugin_get_iface` and `urom_plugin_get_version`. They
/// must exist only in the plugin itself: give the crate `crate-type = ["cdylib"]` alone, and have
/// one `#[urom_plugin]` in it. Builds of the crate's own tests have no exports.
///
/// The file says of itself what it speaks, in a read-only section that programs read without
/// loading it: the protocol's `DESCRIPTION`, and how it was built. See
/// `urom_abi::describe::section`.
///
/// - `export = false`: leaves the exports out, for several handlers in one test crate; the default
///   is `true`.
/// - `abort = "allowed"`: accepts a build with `panic = "abort"`, where a panic takes the worker
///   down; it is refused otherwise.
/// - `peers = field`: takes the methods `address`, `progress` and `arm` from the handler's field, a
///   `urom_pdk::peers::PeerWorker`.
/// - `crate = path`: where `urom-pdk` is found; the default is `::urom_pdk`.
#[proc_macro_attribute]
pub fn urom_plugin(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::plugin(args.into(), item.into()).into()
}

/// Describes a plain structure or an enum without fields, so that a message's field of that type is
/// more than bytes in the C header, in `cargo urom` and in errors.
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
/// It implements `urom_abi::describe::Described`: name, size, alignment, and of each field the
/// name, the offset, the type and the documentation. A `#[repr(transparent)]` structure is
/// described as its field. An enum has one of the `repr`s `u8` to `u64` and `i8` to `i64`, and is
/// described by its values. `#[urom(crate = path)]` says where `urom-abi` is found, `::urom_abi`
/// without it.
#[proc_macro_derive(Described, attributes(urom))]
pub fn described(item: TokenStream) -> TokenStream {
    described::described(item.into()).into()
}

/// States the messages between the plugins of several workers.
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
/// A message is encoded as a command is: see [`macro@urom_command`], whose rules for tags, fields
/// and payloads hold here. The keys of the enum are `version` (required), `tag`, and `crate`, the
/// path of `urom-pdk`. Variants have `tag`; fields have no `echo`, `optional` or `unless`.
///
/// It makes a structure for each variant, with `decode`; `decode`, `encode`, `encoded_len` and
/// `FIXED_LEN` of the enum; and the impls of `urom_abi::protocol::PeerMessage` with which
/// `urom_pdk::peers::Peer` sends the enum and the structures.
#[proc_macro_attribute]
pub fn urom_message(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Message, args.into(), item.into()).into()
}

#[cfg(test)]
mod tests;
