//! The meaning of a payload's keys: words, length and presence. Fields are given by index.

use proc_macro2::{Ident, Literal};
use syn::{Expr, ExprLit, Lit};

pub(crate) struct Payload {
    pub(crate) address: Option<WordRef>,
    pub(crate) count: LenKind,
    pub(crate) presence: Presence,
}

#[derive(PartialEq)]
pub(crate) enum WordRef {
    /// At the payload's own position; the length after the address.
    Own,
    Field(usize),
    Member(usize, Vec<Ident>),
}

pub(crate) enum LenKind {
    Fixed,
    Word(WordRef),
    Given(Expr),
}

pub(crate) enum Presence {
    Always,
    /// Its address word is not 0.
    ByAddress,
    When(Expr),
    /// Inline unless the field with this index is not 0.
    Unless(usize),
    /// Inline if its address word is not 0; otherwise in registered memory.
    Received,
}

impl Payload {
    pub(crate) fn length(&self) -> Option<&WordRef> {
        match &self.count {
            LenKind::Word(word) => Some(word),
            LenKind::Fixed | LenKind::Given(_) => None,
        }
    }

    pub(crate) fn len(&self) -> Option<&Expr> {
        match &self.count {
            LenKind::Given(expr) => Some(expr),
            LenKind::Fixed | LenKind::Word(_) => None,
        }
    }

    pub(crate) fn when(&self) -> Option<&Expr> {
        match &self.presence {
            Presence::When(expr) => Some(expr),
            _ => None,
        }
    }

    /// Returns its address and length words, each with the function of `urom_abi` that computes it.
    pub(crate) fn words(&self) -> [(Option<&WordRef>, &'static str); 2] {
        let address = if self.when().is_some() { "address_word_when" } else { "address_word" };
        [(self.address.as_ref(), address), (self.length(), "length_word")]
    }

    /// Returns the words at its own position, in order.
    pub(crate) fn own_words(&self) -> impl Iterator<Item = &'static str> {
        let words = [("address", self.address.as_ref()), ("length", self.length())];
        words.into_iter().filter(|(_, word)| *word == Some(&WordRef::Own)).map(|(name, _)| name)
    }

    /// Returns which of its words the field `at` is, if any.
    pub(crate) fn use_of(&self, at: usize) -> Option<&'static str> {
        let is_it = |word: Option<&WordRef>| word == Some(&WordRef::Field(at));
        match self.presence {
            _ if is_it(self.address.as_ref()) => Some("address"),
            _ if is_it(self.length()) => Some("length"),
            Presence::Unless(selector) if selector == at => Some("selector"),
            _ => None,
        }
    }

    /// Returns its fixed number of elements, if a literal.
    pub(crate) fn literal(&self) -> Option<Literal> {
        let Expr::Lit(ExprLit { lit: Lit::Int(count), .. }) = self.len()? else { return None };
        count.base10_parse::<usize>().ok().map(Literal::usize_unsuffixed)
    }
}
