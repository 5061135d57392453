//! A protocol as constants: its messages, their fields and payloads, and all offsets.
//!
//! The macros generate one [`Protocol`] for each protocol ([`DESCRIPTION`]). [`c_header`] converts
//! it to a C header, and programs can list or check a plugin's messages. A plugin's file contains
//! it as a [`section`], which can be read without loading the plugin.
//!
//! A message is `{ tag; header fields; union of one structure per variant }` in C layout, then its
//! variant's payloads in order, without padding. Offsets count from the message's first byte.
//!
//! [`DESCRIPTION`]: crate::protocol::Protocol::DESCRIPTION

#[doc(hidden)]
pub mod build;
mod c_header;
mod constants;
mod difference;
mod misfit;
mod presence;
pub mod section;
mod types;

pub use c_header::c_header;
pub use constants::{Constant, IsAnything, IsNumber, Reading, TypeOf, constant};
pub use misfit::Misfit;
pub(crate) use misfit::listed;
#[cfg(feature = "test-util")]
pub(crate) use misfit::visit;
pub use presence::{Comparison, Condition, Given, Presence, Sign, Term};
pub use types::{
    Described, Enum, EnumValue, FoundType, NotDescribed, Probe, Struct, StructField, Type,
};

/// A plugin's protocol.
///
/// ```
/// # mod sums {
/// #     /// Adds.
/// #     #[urom_abi::urom_command(plugin = "worker_sum", version = 1)]
/// #     pub enum Command<'a> {
/// #         #[urom(reply = Sum)]
/// #         Add { factor: u64, #[urom(inline)] values: urom_abi::Elements<'a, u32> },
/// #     }
/// #     #[urom_abi::urom_notification]
/// #     pub enum Notification { Sum { total: u64 } }
/// # }
/// use urom_abi::protocol::Protocol as _;
///
/// use urom_abi::describe::{Protocol, c_header};
///
/// let protocol: &Protocol = sums::Protocol::DESCRIPTION;
/// assert_eq!((protocol.name, protocol.version), ("worker_sum", 1));
/// let header = c_header(protocol);
/// assert!(header.contains("uint64_t factor;"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Protocol {
    /// The plugin's name: its file name without `.so`.
    pub name: &'static str,
    /// The value of the plugin's `urom_plugin_get_version`.
    pub version: u64,
    /// The host's messages.
    pub commands: Messages,
    /// The plugin's messages.
    pub notifications: Messages,
}

/// All messages of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The name of the Rust enum.
    pub name: &'static str,
    /// Its documentation, lines separated by `\n`; may be empty.
    pub docs: &'static str,
    /// The tag's type, an unsigned integer. It lies at offset 0.
    pub tag: Type,
    /// The size in bytes of every message without its payloads.
    pub len: usize,
    /// Offset of the union of the variants' structures.
    pub union_at: usize,
    /// The fields between tag and union, which all variants share.
    pub header: &'static [Field],
    /// The messages, in the order of the definition.
    pub variants: &'static [Variant],
}

/// One message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// The name in Rust, like `TagSend`.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// The tag's value.
    pub tag: u64,
    /// A second tag, which a host also accepts when it decodes this notification as an answer.
    pub also: Option<u64>,
    /// For a command: the name of the notification that answers it.
    pub reply: Option<&'static str>,
    /// The fields within the union, in wire order, including the words of payloads.
    pub fields: &'static [Field],
    /// The payloads after the fixed part, in wire order.
    pub payloads: &'static [Payload],
}

impl Messages {
    /// Returns the message that these bytes contain, judged by their tag. A second tag counts too,
    /// unless it is another message's own tag. `None` for an unknown or truncated tag.
    #[must_use]
    pub fn find(&self, message: &[u8]) -> Option<&'static Variant> {
        let tag = message.get(..self.tag.size())?;
        let mut word = [0; 8];
        word.get_mut(..tag.len())?.copy_from_slice(tag);
        let tag = u64::from_le_bytes(word);
        let own = self.variants.iter().find(|variant| variant.tag == tag);
        own.or_else(|| self.variants.iter().find(|variant| variant.also == Some(tag)))
    }
}

/// A field of the fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// The Rust name. An unnamed payload word has the payload's: `data_addr`, `data_len`.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// Its purpose.
    pub kind: FieldKind,
    /// Its type on the wire.
    pub ty: Type,
    /// Its offset in the message.
    pub offset: usize,
    /// For a command's plain field: whether a host may omit it. It is 0 then.
    pub optional: bool,
}

/// Purpose of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// A value.
    Plain,
    /// A value that the answer repeats from the command.
    Echo,
    /// The address word of a payload: non-zero when the payload is present, otherwise unused. For a
    /// [registered](Presence::Registered) payload of a command, the memory's address.
    Address {
        /// The payload's name.
        of: &'static str,
    },
    /// The length of a payload in elements.
    Length {
        /// The payload's name.
        of: &'static str,
    },
    /// 0 for an inline payload, else the id of the registered memory with the data.
    Selector {
        /// The payload's name.
        of: &'static str,
    },
}

/// Bytes after the fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The name in Rust.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// The type of one element; bytes are `u8`.
    pub ty: Type,
    /// Its number of elements.
    pub count: Count,
    /// The field with its address word, or a path such as `params.buffer` in a plain field.
    pub address: Option<&'static str>,
    /// Condition for its presence.
    pub presence: Presence,
    /// The constants in the expressions of its length and its condition, in order.
    pub constants: &'static [Constant],
    /// For a command's payload: whether a host may omit it. It is absent, empty or zeros then.
    pub optional: bool,
}

/// Number of elements of a payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// The value of this word: a field, or a path such as `params.len` in a plain field.
    Word(&'static str),
    /// A constant.
    Fixed(usize),
    /// The value of this expression over the other fields.
    Given(Given),
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn variant(name: &'static str, tag: u64, also: Option<u64>) -> Variant {
        Variant { name, tag, also, ..Variant::NONE }
    }

    const fn messages(bytes: usize, variants: &'static [Variant]) -> Messages {
        let tag = Type::Int { bytes, signed: false };
        Messages { name: "Command", docs: "", tag, len: 8, union_at: 8, header: &[], variants }
    }

    const TWO: &[Variant] = &[variant("Send", 2, None), variant("Receive", 0x0102, Some(7))];

    #[test]
    fn a_message_is_found_by_its_tag_and_by_its_second_one() {
        let name =
            |bytes, message: &[u8]| messages(bytes, TWO).find(message).map(|variant| variant.name);
        assert_eq!(name(1, &[2]), Some("Send"));
        assert_eq!(name(2, &[2, 1, 9]), Some("Receive"));
        assert_eq!(name(1, &[2, 1, 9]), Some("Send"));
        assert_eq!(name(4, &[7, 0, 0, 0]), Some("Receive"));
        assert_eq!(name(8, &[2, 0, 0, 0, 0, 0, 0, 0]), Some("Send"));
    }

    #[test]
    fn a_messages_own_tag_comes_before_the_second_tag_of_another() {
        const VARIANTS: &[Variant] = &[variant("Mapped", 0, Some(1)), variant("Sent", 1, None)];
        let found = messages(8, VARIANTS).find(&1u64.to_le_bytes());
        assert_eq!(found.map(|variant| variant.name), Some("Sent"));
    }

    #[test]
    fn a_tag_that_none_has_or_that_was_cut_finds_nothing() {
        for (bytes, message) in
            [(1, &[][..]), (1, &[3]), (8, &[2, 0, 0, 0]), (8, &[2, 0, 0, 0, 0, 0, 0, 1])]
        {
            assert_eq!(messages(bytes, TWO).find(message), None);
        }
    }
}
