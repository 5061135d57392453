//! What a protocol looks like, as constants: its messages, their fields, their payloads, and where
//! all of it lies.
//!
//! The macros make one [`Protocol`] for each protocol ([`DESCRIPTION`]). [`c_header`] turns it into
//! a C header, and a program can read it to list or to check what a plugin speaks. Everything here
//! is `'static` and `const`: it costs nothing at run time. A plugin's file carries it as a
//! [`section`], which is read without loading the plugin.
//!
//! A message is `{ tag; header fields; union of one structure per variant }` as C lays it out, and
//! behind that the payloads of its variant, in order and without padding between them. All offsets
//! count from the message's first byte.
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
    Described, Enum, EnumValue, Found, NotDescribed, Probe, Struct, StructField, Type,
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
    /// The plugin's name: its file's name without `.so`.
    pub name: &'static str,
    /// What the plugin's `urom_plugin_get_version` returns.
    pub version: u64,
    /// What a host asks.
    pub commands: Messages,
    /// What the plugin answers.
    pub notifications: Messages,
}

/// All messages of one direction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Messages {
    /// The name of the Rust enum.
    pub name: &'static str,
    /// Its documentation, lines separated by `\n`; empty when there is none.
    pub docs: &'static str,
    /// The tag's type, an unsigned integer. It lies at offset 0.
    pub tag: Type,
    /// The size in bytes of every message without its payloads.
    pub len: usize,
    /// Where the union of the variants' structures begins.
    pub union_at: usize,
    /// The fields between tag and union, which every variant has.
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
    /// A second tag, which a host accepts as well when it reads this notification as an answer.
    pub also: Option<u64>,
    /// Of a command: the name of the notification that answers it.
    pub reply: Option<&'static str>,
    /// The fields within the union, in the order of the wire; the words of payloads are among them.
    pub fields: &'static [Field],
    /// What follows the fixed part, in the order of the wire.
    pub payloads: &'static [Payload],
}

impl Messages {
    /// Which message these bytes are, by their tag alone. A second tag counts too, unless it is
    /// another message's own: such bytes are only read as the message with the second tag when that
    /// one is asked for. `None` for a tag that none has, and for fewer bytes than a tag.
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
    /// The name in Rust. A payload's word that has none of its own is named after the payload:
    /// `data_addr`, `data_len`.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// What it is for.
    pub kind: FieldKind,
    /// Its type on the wire.
    pub ty: Type,
    /// Where it begins, from the message's first byte.
    pub offset: usize,
    /// Of a command's field with a value of its own: whether a host may leave it out, and it is 0
    /// then.
    pub optional: bool,
}

/// What a field is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldKind {
    /// It has a value of its own.
    Plain,
    /// So it has, and the answer repeats the command's.
    Echo,
    /// The address word of a payload: not 0 marks presence, and nobody reads more from it. When the
    /// payload is [registered](Presence::Registered) in a command, it is the address of that
    /// memory.
    Address {
        /// The payload's name.
        of: &'static str,
    },
    /// The length of a payload, in elements.
    Length {
        /// The payload's name.
        of: &'static str,
    },
    /// 0 when the payload travels inline, else the id of the registered memory that holds the data.
    Selector {
        /// The payload's name.
        of: &'static str,
    },
}

/// Bytes behind the fixed part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Payload {
    /// The name in Rust.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// The type of one element; bytes are `u8`.
    pub ty: Type,
    /// How many elements.
    pub count: Count,
    /// Which word of the fixed part stands for its address: the name of a field, or a path like
    /// `params.buffer` into a plain one.
    pub address: Option<&'static str>,
    /// What says whether it is there.
    pub presence: Presence,
    /// The constants that the expressions of its length and its condition use, in their order.
    pub constants: &'static [Constant],
    /// Of a command's payload: whether a host may leave it out, and it is absent, empty or zeros
    /// then.
    pub optional: bool,
}

/// How many elements a payload has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count {
    /// As many as this word says: the name of a field, or a path like `params.len` into a plain
    /// one.
    Word(&'static str),
    /// Always this many.
    Fixed(usize),
    /// As many as this expression over the other fields gives.
    Given(Given),
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn variant(name: &'static str, tag: u64, also: Option<u64>) -> Variant {
        Variant { name, docs: "", tag, also, reply: None, fields: &[], payloads: &[] }
    }

    const fn messages(bytes: usize) -> Messages {
        const VARIANTS: &[Variant] =
            &[variant("Send", 2, None), variant("Receive", 0x0102, Some(7))];
        let tag = Type::Int { bytes, signed: false };
        Messages {
            name: "Command",
            docs: "",
            tag,
            len: 8,
            union_at: 8,
            header: &[],
            variants: VARIANTS,
        }
    }

    #[test]
    fn a_message_is_found_by_its_tag_and_by_its_second_one() {
        let name =
            |bytes, message: &[u8]| messages(bytes).find(message).map(|variant| variant.name);
        assert_eq!(name(1, &[2]), Some("Send"));
        assert_eq!(name(2, &[2, 1, 9]), Some("Receive"));
        assert_eq!(name(1, &[2, 1, 9]), Some("Send"));
        assert_eq!(name(4, &[7, 0, 0, 0]), Some("Receive"));
        assert_eq!(name(8, &[2, 0, 0, 0, 0, 0, 0, 0]), Some("Send"));
    }

    #[test]
    fn a_messages_own_tag_comes_before_the_second_tag_of_another() {
        const VARIANTS: &[Variant] = &[variant("Mapped", 0, Some(1)), variant("Sent", 1, None)];
        let messages = Messages { variants: VARIANTS, ..messages(8) };
        assert_eq!(messages.find(&1u64.to_le_bytes()).map(|variant| variant.name), Some("Sent"));
    }

    #[test]
    fn a_tag_that_none_has_or_that_was_cut_finds_nothing() {
        for (bytes, message) in
            [(1, &[][..]), (1, &[3]), (8, &[2, 0, 0, 0]), (8, &[2, 0, 0, 0, 0, 0, 0, 1])]
        {
            assert_eq!(messages(bytes).find(message), None);
        }
    }
}
