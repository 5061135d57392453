//! What a protocol's definition says, without a trace of how it was written.
//!
//! The model carries the whole grammar: also what cannot be rendered yet, which `validate` refuses.

use proc_macro2::{Ident, Span};
use syn::{Attribute, Expr, Lifetime, LitStr, Path, Type, Visibility};

/// An enum of messages.
pub(crate) struct Messages {
    /// Commands, with what belongs to the whole protocol, or notifications.
    pub(crate) kind: Kind,
    pub(crate) ident: Ident,
    pub(crate) vis: Visibility,
    /// The path of `urom-abi` in the user's crate.
    pub(crate) krate: Path,
    pub(crate) tag: TagType,
    /// The enum's lifetime, which its inline payloads borrow for.
    pub(crate) lifetime: Option<Lifetime>,
    /// Whether the enum has other parameters, none of which can be right.
    pub(crate) generic: bool,
    /// What the user derives for the enum and the structures derive too.
    pub(crate) derives: Vec<Path>,
    pub(crate) variants: Vec<Variant>,
}

pub(crate) enum Kind {
    Command(Plugin),
    Notification,
}

/// What a command enum says of the protocol.
pub(crate) struct Plugin {
    /// The plugin's name, unless that is missing.
    pub(crate) name: Option<LitStr>,
    pub(crate) version: u64,
    /// The enum of notifications.
    pub(crate) notification: Path,
}

impl Plugin {
    /// The plugin's name.
    pub(crate) fn text(&self) -> String {
        self.name.as_ref().map(LitStr::value).unwrap_or_default()
    }
}

/// The type of the tag.
pub(crate) struct TagType {
    pub(crate) width: TagWidth,
    pub(crate) span: Span,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TagWidth {
    U8,
    U16,
    U32,
    U64,
}

impl TagWidth {
    pub(crate) const ALL: [TagWidth; 4] = [TagWidth::U8, TagWidth::U16, TagWidth::U32, TagWidth::U64];

    pub(crate) fn name(self) -> &'static str {
        match self {
            TagWidth::U8 => "u8",
            TagWidth::U16 => "u16",
            TagWidth::U32 => "u32",
            TagWidth::U64 => "u64",
        }
    }

    /// The largest tag.
    pub(crate) fn most(self) -> u64 {
        match self {
            TagWidth::U8 => u8::MAX.into(),
            TagWidth::U16 => u16::MAX.into(),
            TagWidth::U32 => u32::MAX.into(),
            TagWidth::U64 => u64::MAX,
        }
    }
}

/// A message.
pub(crate) struct Variant {
    pub(crate) ident: Ident,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) tag: u64,
    pub(crate) tag_span: Span,
    /// Of a command: the notification that answers it.
    pub(crate) reply: Option<Path>,
    pub(crate) fields: Vec<Field>,
}

impl Variant {
    /// The fields that are repeated from command to answer.
    pub(crate) fn echoed(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.echo.is_some())
    }

    /// The others.
    pub(crate) fn own(&self) -> impl Iterator<Item = &Field> {
        self.fields.iter().filter(|field| field.echo.is_none())
    }
}

/// A field of a message.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) docs: Vec<Attribute>,
    /// Where it says that the answer repeats it.
    pub(crate) echo: Option<Span>,
    pub(crate) place: Place,
}

/// Where and how a field travels.
pub(crate) enum Place {
    /// In the variant's structure, as its own bytes.
    Plain,
    /// Between tag and union, the same in every variant.
    Header {
        /// The key `header`.
        span: Span,
    },
    /// Behind the fixed part, with a word for its address and one for its length where C has them.
    Inline(Box<Inline>),
    /// In the variant's structure, through the functions of this module.
    Codec(Spanned<Path>),
}

/// An inline payload.
pub(crate) struct Inline {
    /// The key `inline`.
    pub(crate) inline: Option<Span>,
    /// It is there unless this field is set.
    pub(crate) unless: Option<Spanned<Ident>>,
    /// It is there when this holds.
    pub(crate) when: Option<Spanned<Expr>>,
    /// The field or the number that says how long it is.
    pub(crate) len: Option<Spanned<Expr>>,
    /// The field that is its address word.
    pub(crate) addr: Option<Spanned<Ident>>,
}

impl Inline {
    /// Where each key stands that makes the field a payload.
    pub(crate) fn spans(&self) -> impl Iterator<Item = (&'static str, Span)> {
        let unless = self.unless.as_ref().map(|key| ("unless", key.span));
        let when = self.when.as_ref().map(|key| ("when", key.span));
        let len = self.len.as_ref().map(|key| ("len", key.span));
        let addr = self.addr.as_ref().map(|key| ("addr", key.span));
        let inline = self.inline.map(|span| ("inline", span));
        [inline, unless, when, len, addr].into_iter().flatten()
    }
}

/// A value and where its key stands.
pub(crate) struct Spanned<T> {
    pub(crate) value: T,
    pub(crate) span: Span,
}

/// What `#[urom_plugin]` was told.
pub(crate) struct Export {
    /// The path of `urom-pdk` in the user's crate.
    pub(crate) krate: Path,
    /// Whether to export the two functions.
    pub(crate) export: bool,
    /// Whether a build that aborts on panics is accepted.
    pub(crate) abort: bool,
}
