//! The model of a protocol's definition, for validation and rendering.

mod field;
mod payload;
mod shape;

use crate::names;
use proc_macro2::{Ident, Span};
use syn::{Attribute, Generics, Lifetime, LitStr, Path, Visibility};

pub(crate) use field::{Field, FieldKeys, Role};
pub(crate) use payload::{LenKind, Payload, Presence, WordRef};
pub(crate) use shape::{Form, Shape, last_segment, only_type, plainly};

pub(crate) struct Messages {
    pub(crate) plugin: Option<Plugin>,
    /// The version of messages between plugins; `None` for other messages.
    pub(crate) peers: Option<u64>,
    pub(crate) ident: Ident,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) krate: Path,
    pub(crate) tag: TagWidth,
    /// The enum's parameters: at most one lifetime, in a valid definition.
    pub(crate) generics: Generics,
    pub(crate) lifetime: Option<Lifetime>,
    /// Notifications had a lifetime, which was an error.
    pub(crate) refused_lifetime: bool,
    /// The enum's derives that the structures share.
    pub(crate) derives: Vec<Path>,
    pub(crate) allowed: Option<Attribute>,
    pub(crate) variants: Vec<Variant>,
}

impl Messages {
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
    /// A notification's second tag for reading.
    pub(crate) also: Option<(u64, Span)>,
    pub(crate) reply: Option<Path>,
    /// In wire order, including words.
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

pub(crate) struct ExportKeys {
    pub(crate) krate: Path,
    pub(crate) export: bool,
    pub(crate) abort: bool,
    pub(crate) peers: Option<Ident>,
}
