//! A field and its keys, as they were written.

use proc_macro2::{Ident, Span};
use syn::{Attribute, Expr, Path, Type};

use super::{Payload, Shape, Spanned};

/// A field of a message.
pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) docs: Vec<Attribute>,
    /// The answer repeats it.
    pub(crate) echo: Option<Span>,
    /// It lies between tag and union, the same in every variant.
    pub(crate) header: Option<Span>,
    /// The client's method has no argument for it.
    pub(crate) optional: Option<Span>,
    /// It is a place on the wire that a payload fills, and has no value.
    pub(crate) word: Option<Span>,
    /// It travels through the functions of this module.
    pub(crate) codec: Option<Spanned<Path>>,
    pub(crate) inline: Inline,
    /// What those keys mean; nothing before the definition was validated.
    pub(crate) payload: Option<Payload>,
}

/// What a field is.
pub(crate) enum Role<'a> {
    /// Its own bytes.
    Plain,
    /// Through the functions of this module.
    Codec(&'a Path),
    /// A place that a payload fills.
    Word,
    /// Behind the fixed part.
    Payload,
}

impl Field {
    /// What the field is.
    pub(crate) fn role(&self) -> Role<'_> {
        match &self.codec {
            _ if self.word.is_some() => Role::Word,
            _ if self.inline.inline.is_some() => Role::Payload,
            Some(codec) => Role::Codec(&codec.value),
            None => Role::Plain,
        }
    }

    /// Whether it is an inline payload.
    pub(crate) fn is_payload(&self) -> bool {
        matches!(self.role(), Role::Payload)
    }

    /// Whether it travels as its own bytes.
    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.role(), Role::Plain)
    }

    /// Whether it lies between tag and union.
    pub(crate) fn is_header(&self) -> bool {
        self.header.is_some() && self.is_plain()
    }

    /// Whether the task has a setter for it, and the client's method no argument.
    pub(crate) fn has_setter(&self) -> bool {
        self.echo.is_some() || self.optional.is_some()
    }

    /// What its type says of a payload.
    pub(crate) fn shape(&self) -> Shape<'_> {
        Shape::of(&self.ty)
    }
}

/// The keys of an inline payload.
#[derive(Default)]
pub(crate) struct Inline {
    /// The key `inline`.
    pub(crate) inline: Option<Span>,
    /// It is registered memory when this word is not 0.
    pub(crate) unless: Option<Spanned<Ident>>,
    /// It is there when this holds.
    pub(crate) when: Option<Spanned<Expr>>,
    /// What says how long it is.
    pub(crate) len: Option<Spanned<Len>>,
    /// Where its address word is.
    pub(crate) addr: Option<Spanned<Addr>>,
}

impl Inline {
    /// Whether it says that there is no address word.
    pub(crate) fn addr_is_none(&self) -> bool {
        matches!(self.addr.as_ref().map(|key| &key.value), Some(Addr::None))
    }
}

/// The value of `len`.
pub(crate) enum Len {
    /// `a` or `a.b.c`.
    Path(Vec<Ident>),
    /// Anything else.
    Given(Expr),
}

/// The value of `addr`.
pub(crate) enum Addr {
    None,
    /// `a` or `a.b.c`.
    Path(Vec<Ident>),
}
