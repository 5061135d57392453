//! What a protocol's definition says: all that validation and renderers need.

mod field;
mod payload;
mod shape;

use crate::names;
use proc_macro2::{Ident, Span};
use syn::{Attribute, Generics, Lifetime, LitStr, Path, Visibility};

pub(crate) use field::{Field, FieldKeys, Role};
pub(crate) use payload::{Count, Payload, Presence, Word};
pub(crate) use shape::{Form, Shape, last_segment, only_type, plainly};

pub(crate) struct Messages {
    /// What commands say of the whole protocol; nothing for notifications.
    pub(crate) plugin: Option<Plugin>,
    /// The version of messages between plugins; nothing for the messages of a protocol.
    pub(crate) peers: Option<u64>,
    pub(crate) ident: Ident,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    /// The path of `urom-abi` in the user's crate.
    pub(crate) krate: Path,
    pub(crate) tag: TagWidth,
    /// The enum's parameters. In a definition without errors that is at most one lifetime.
    pub(crate) generics: Generics,
    pub(crate) lifetime: Option<Lifetime>,
    /// These are notifications that had a lifetime, which was an error.
    pub(crate) refused_lifetime: bool,
    /// What the user derives for the enum and the structures derive too.
    pub(crate) derives: Vec<Path>,
    pub(crate) allowed: Option<Attribute>,
    pub(crate) variants: Vec<Variant>,
}

impl Messages {
    /// Whether payloads are borrowed: in commands, and in messages between plugins.
    pub(crate) fn is_borrowed(&self) -> bool {
        self.plugin.is_some() || self.peers.is_some()
    }
}

pub(crate) struct Plugin {
    pub(crate) name: Option<LitStr>,
    pub(crate) version: u64,
    pub(crate) notification: Path,
}

impl Plugin {
    pub(crate) fn text(&self) -> String {
        self.name.as_ref().map(LitStr::value).unwrap_or_default()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TagWidth {
    U8,
    U16,
    U32,
    U64,
}

impl TagWidth {
    pub(crate) const ALL: [TagWidth; 4] =
        [TagWidth::U8, TagWidth::U16, TagWidth::U32, TagWidth::U64];

    pub(crate) fn name(self) -> String {
        format!("u{}", self.bits())
    }

    pub(crate) fn most(self) -> u64 {
        u64::MAX >> (64 - self.bits())
    }

    fn bits(self) -> u32 {
        match self {
            TagWidth::U8 => 8,
            TagWidth::U16 => 16,
            TagWidth::U32 => 32,
            TagWidth::U64 => 64,
        }
    }
}

pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) tag: u64,
    pub(crate) tag_span: Span,
    /// Of a notification: another tag that it is read with.
    pub(crate) also: Option<(u64, Span)>,
    /// Of a command: the notification that answers it.
    pub(crate) reply: Option<Path>,
    /// In the order of the wire, words among them.
    pub(crate) fields: Vec<Field>,
}

impl Variant {
    pub(crate) fn name(&self) -> String {
        names::text(&self.ident)
    }

    pub(crate) fn constant(&self, what: &str) -> Ident {
        names::constant(what, &self.name())
    }

    pub(crate) fn echoed(&self) -> impl Iterator<Item = &Field> {
        self.values().filter(|field| field.is_echoed())
    }

    pub(crate) fn own(&self) -> impl Iterator<Item = &Field> {
        self.values().filter(|field| !field.is_echoed())
    }

    /// All fields that have a value: all but the words.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| !matches!(field.role, Role::Word))
    }

    pub(crate) fn fixed(&self) -> impl Iterator<Item = &Field> {
        self.values().filter(|field| !field.is_payload())
    }

    pub(crate) fn header(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.is_header())
    }

    pub(crate) fn payloads(&self) -> impl Iterator<Item = (&Field, &Payload)> {
        self.fields.iter().filter_map(|field| Some((field, field.payload()?)))
    }

    pub(crate) fn field(&self, name: &Ident) -> Option<&Field> {
        self.fields.iter().find(|field| field.ident == *name)
    }
}

pub(crate) struct Export {
    pub(crate) krate: Path,
    pub(crate) export: bool,
    pub(crate) abort: bool,
    /// The handler's field with its `PeerWorker`.
    pub(crate) peers: Option<Ident>,
}
