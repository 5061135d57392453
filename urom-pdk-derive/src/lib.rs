//! The macros of the kit.
//!
//! `urom-abi` re-exports [`macro@urom_command`] and [`macro@urom_notification`], `urom-pdk` re-exports
//! [`macro@urom_plugin`]: depend on those and not on this crate. The generated code names everything by absolute
//! paths, so it works beside whatever the user's crate calls `Result`, `Option` or `Ok`.

mod attrs;
mod described;
mod diagnostics;
mod expand;
mod fallback;
mod model;
mod names;
mod parse;
mod render;
#[cfg(test)]
mod snapshots;
mod tokens;
mod validate;

use proc_macro::TokenStream;

/// States a plugin's commands, and with them the whole protocol.
///
/// ```ignore
/// #[urom_command(plugin = "worker_graph", version = 1)]
/// pub enum Command {
///     /// Asks for `data` back.
///     #[urom(reply = LoopbackDone)]
///     Loopback { data: u64 },
/// }
/// ```
///
/// # Keys of the enum
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `plugin = "name"` | the plugin's name: its file's name without `.so`, at most 47 bytes | required |
/// | `version = 1` | what `urom_plugin_get_version` returns; host and plugin compare it for equality | required |
/// | `notification = Path` | the `#[urom_notification]` enum | `Notification` |
/// | `tag = u64` | the tag's type (only `u64` so far) | `u64` |
/// | `crate = path` | where `urom-abi` is found | `::urom_abi` |
///
/// # Keys of a variant and of a field, in `#[urom(...)]`
///
/// | key | on | meaning |
/// | --- | --- | --- |
/// | `reply = Variant` | variant | the notification that answers; required |
/// | `tag = 7` | variant | the tag, also as a discriminant (`= 7`); otherwise one more than the variant before, from 0 |
/// | `echo` | field | the answer repeats it, in the notification's echoed field of the same name |
///
/// A field is any number, array or `bytemuck::Pod` structure. The wire is C's `{ tag; union of structs }`, padded to the
/// largest variant; bytes that nobody set are zero.
///
/// # What it makes, beside the enum
///
/// For a variant `TagSend`: the structure `TagSend` (with `decode`, `Request`, and `From<TagSend>` for the enum), the
/// host's task `TagSendTask` and the client's method `task_tag_send`, and the handler's method `tag_send`. For the enum:
/// `decode`, `encode`, `FIXED_LEN`, `FINGERPRINT`. For the module: the type `Protocol`, the trait `Handler` and the type
/// `Client`. In a client's method every field is an argument but the echoed ones, which have setters and are 0 without.
#[proc_macro_attribute]
pub fn urom_command(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Command, args.into(), item.into()).into()
}

/// States a plugin's notifications: what its commands are answered with.
///
/// ```ignore
/// #[urom_notification]
/// pub enum Notification {
///     /// Answers a loopback.
///     LoopbackDone { data: u64 },
/// }
/// ```
///
/// The enum's keys are `tag` and `crate`, a variant's is `tag`, a field's is `echo`: see [`macro@urom_command`].
///
/// For a variant `TagSent` it makes the structure `TagSent` of all fields that are not echoed: what a handler returns
/// and what a host's task resolves to. The echoed ones are filled in from the command on the plugin's side and
/// compared with it on the host's. For the enum it makes `decode`, `encode`, `FIXED_LEN` and `FINGERPRINT`.
#[proc_macro_attribute]
pub fn urom_notification(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::messages(parse::Macro::Notification, args.into(), item.into()).into()
}

/// Makes the plugin of a handler.
///
/// ```ignore
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
/// ```
///
/// It fills in the trait's side (`Handler` becomes `Handler<urom_pdk::Side>`) and exports the two functions that a
/// worker looks up, `urom_plugin_get_iface` and `urom_plugin_get_version`. They must exist only in the plugin itself:
/// give the crate `crate-type = ["cdylib"]` alone, and have one `#[urom_plugin]` in it. Builds of the crate's own tests
/// have no exports.
///
/// | key | meaning | default |
/// | --- | --- | --- |
/// | `export = false` | leaves the exports out, for several handlers in one test crate | `true` |
/// | `abort = "allowed"` | accepts a build with `panic = "abort"`, where a panic takes the worker down | refused |
/// | `crate = path` | where `urom-pdk` is found | `::urom_pdk` |
#[proc_macro_attribute]
pub fn urom_plugin(args: TokenStream, item: TokenStream) -> TokenStream {
    expand::plugin(args.into(), item.into()).into()
}

/// Describes a plain structure, so that a message's field of that type is more than bytes in the C header.
///
/// ```ignore
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
/// It implements `urom_abi::describe::Described`: name, size, alignment, and of each field the name, the offset, the type
/// and the documentation. A `#[repr(transparent)]` structure is described as its field. `#[urom(crate = path)]` says where
/// `urom-abi` is found, `::urom_abi` without it.
#[proc_macro_derive(Described, attributes(urom))]
pub fn described(item: TokenStream) -> TokenStream {
    described::described(item.into()).into()
}
