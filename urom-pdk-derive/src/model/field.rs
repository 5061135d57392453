//! A field, its keys as written, and their meaning.

use proc_macro2::Ident;
use syn::{Attribute, Expr, Path, Type};

use super::{Payload, Shape};
use crate::attrs::Spans;
use crate::names;

pub(crate) struct Field {
    pub(crate) ident: Ident,
    pub(crate) ty: Type,
    pub(crate) docs: Vec<Attribute>,
    pub(crate) at: usize,
    /// The prefix of its constants: `TagSend_data`.
    pub(crate) stem: String,
    pub(crate) keys: FieldKeys,
    pub(crate) shape: Shape,
    pub(crate) role: Role,
}

pub(crate) enum Role {
    /// Sent as its own bytes.
    Plain,
    /// Sent through the functions of this module.
    Codec(Path),
    Word,
    Payload(Box<Payload>),
}

pub(crate) struct FieldKeys {
    pub(crate) spans: Spans,
    pub(crate) with: Option<Path>,
    pub(crate) unless: Option<Ident>,
    pub(crate) when: Option<Expr>,
    pub(crate) len: Option<Expr>,
    pub(crate) addr: Option<Vec<Ident>>,
}

impl FieldKeys {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.spans.contains_key(key)
    }

    pub(crate) fn has_no_address(&self) -> bool {
        self.addr.as_ref().is_some_and(|path| matches!(path.as_slice(), [only] if only == "none"))
    }
}

impl Field {
    pub(crate) fn name(&self) -> String {
        names::text(&self.ident)
    }

    pub(crate) fn local(&self) -> Ident {
        names::numbered(self.at)
    }

    pub(crate) fn accessor(&self) -> Ident {
        self.constant("AT")
    }

    pub(crate) fn constant(&self, what: &str) -> Ident {
        names::constant(what, &self.stem)
    }

    pub(crate) fn payload(&self) -> Option<&Payload> {
        match &self.role {
            Role::Payload(payload) => Some(payload),
            Role::Plain | Role::Codec(_) | Role::Word => None,
        }
    }

    pub(crate) fn is_payload(&self) -> bool {
        self.payload().is_some()
    }

    pub(crate) fn is_plain(&self) -> bool {
        matches!(self.role, Role::Plain)
    }

    pub(crate) fn is_echoed(&self) -> bool {
        self.keys.has("echo")
    }

    pub(crate) fn is_header(&self) -> bool {
        self.keys.has("header") && self.is_plain()
    }

    pub(crate) fn has_setter(&self) -> bool {
        self.is_echoed() || self.keys.has("optional")
    }
}
