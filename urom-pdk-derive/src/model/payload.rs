//! What a payload's keys mean: where its words are, what counts it, and when it is there. Fields of
//! the variant are their numbers.

use proc_macro2::{Ident, Literal};
use syn::{Expr, ExprLit, Lit};

pub(crate) struct Payload {
    pub(crate) address: Option<Word>,
    pub(crate) count: Count,
    pub(crate) presence: Presence,
}

/// Where a word of a payload is.
#[derive(PartialEq)]
pub(crate) enum Word {
    /// At the payload's own place; the length behind the address.
    Own,
    Field(usize),
    /// A member of a plain field.
    Member(usize, Vec<Ident>),
}

/// What says how long a payload is.
pub(crate) enum Count {
    /// Its type.
    Fixed,
    Word(Word),
    /// Other fields.
    Given(Expr),
}

/// What says whether a payload is there.
pub(crate) enum Presence {
    Always,
    /// Its address word is not 0.
    ByAddress,
    When(Expr),
    /// It is inline unless the field of this number is not 0.
    Unless(usize),
    /// Its address word is not 0; otherwise it is in registered memory.
    Received,
}

impl Payload {
    pub(crate) fn length(&self) -> Option<&Word> {
        match &self.count {
            Count::Word(word) => Some(word),
            Count::Fixed | Count::Given(_) => None,
        }
    }

    pub(crate) fn len(&self) -> Option<&Expr> {
        match &self.count {
            Count::Given(expr) => Some(expr),
            Count::Fixed | Count::Word(_) => None,
        }
    }

    pub(crate) fn when(&self) -> Option<&Expr> {
        match &self.presence {
            Presence::When(expr) => Some(expr),
            _ => None,
        }
    }

    /// Its address and its length word, each with the function of `urom_abi` that computes it.
    pub(crate) fn words(&self) -> [(Option<&Word>, &'static str); 2] {
        let address = if self.when().is_some() { "address_word_when" } else { "address_word" };
        [(self.address.as_ref(), address), (self.length(), "length_word")]
    }

    /// Which of them stand at its own place, in order.
    pub(crate) fn own_words(&self) -> impl Iterator<Item = &'static str> {
        let words = [("address", self.address.as_ref()), ("length", self.length())];
        words.into_iter().filter(|(_, word)| *word == Some(&Word::Own)).map(|(name, _)| name)
    }

    /// What the field of number `at` is to it, if it is one of its words.
    pub(crate) fn use_of(&self, at: usize) -> Option<&'static str> {
        let is_it = |word: Option<&Word>| word == Some(&Word::Field(at));
        match self.presence {
            _ if is_it(self.address.as_ref()) => Some("address"),
            _ if is_it(self.length()) => Some("length"),
            Presence::Unless(selector) if selector == at => Some("selector"),
            _ => None,
        }
    }

    /// How many elements it always has, when a number says so.
    pub(crate) fn literal(&self) -> Option<Literal> {
        let Expr::Lit(ExprLit { lit: Lit::Int(count), .. }) = self.len()? else { return None };
        count.base10_parse::<usize>().ok().map(Literal::usize_unsuffixed)
    }
}
