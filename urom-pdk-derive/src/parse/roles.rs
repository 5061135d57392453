//! Interprets the keys of a field. Each word belongs to exactly one payload.

use std::slice;

use proc_macro2::Ident;
use quote::quote;

use super::keys::path;
use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Form, LenKind, Payload, Presence, Role, WordRef};
use crate::{names, tokens};

pub(super) fn assign(variant: &Ident, fields: &mut [Field], errors: &mut Errors) {
    let mut words = WordRoles { variant, fields, taken: Vec::new(), errors };
    let roles = fields.iter().map(|field| match &field.keys.with {
        _ if field.keys.has("word") => Role::Word,
        _ if field.keys.has("inline") => Role::Payload(Box::new(words.payload(field))),
        Some(codec) => Role::Codec(codec.clone()),
        None => Role::Plain,
    });
    let roles = roles.collect::<Vec<_>>();
    for word in fields.iter().filter(|field| field.keys.has("word")) {
        // A misspelled name was reported already.
        if !fields.iter().any(|field| mentions(field, &word.ident)) {
            errors.on(&word.ident, messages::word_unnamed(&word.ident));
        }
    }
    for (field, role) in fields.iter_mut().zip(roles) {
        field.role = role;
    }
}

fn mentions(Field { keys, .. }: &Field, word: &Ident) -> bool {
    let (len, when, unless, addr) =
        (&keys.len, &keys.when, &keys.unless, keys.addr.iter().flatten());
    tokens::mentions(quote!(#len #when #unless #(#addr)*), word)
}

struct WordRoles<'a> {
    variant: &'a Ident,
    fields: &'a [Field],
    taken: Vec<(Vec<Ident>, &'a Ident)>,
    errors: &'a mut Errors,
}

impl<'a> WordRoles<'a> {
    fn payload(&mut self, field: &'a Field) -> Payload {
        let (keys, shape) = (&field.keys, &field.shape);
        let address = match &keys.addr {
            None => Some(WordRef::Own),
            Some(_) if keys.has_no_address() => None,
            Some(path) => self.word(field, path),
        };
        let count = match &keys.len {
            None if shape.form == Form::Array => LenKind::Fixed,
            None => LenKind::Word(WordRef::Own),
            Some(expr) => path(expr)
                .filter(|path| self.is_word(path))
                .and_then(|path| self.word(field, &path))
                .map_or_else(|| LenKind::Given(tokens::ungrouped(expr).clone()), LenKind::Word),
        };
        let unless = keys.unless.as_ref().and_then(|name| self.word(field, slice::from_ref(name)));
        let presence = match (&keys.when, unless) {
            (Some(when), _) => Presence::When(when.clone()),
            (None, Some(WordRef::Field(word))) => Presence::Unless(word),
            _ if shape.option => Presence::ByAddress,
            _ if shape.form == Form::Received => Presence::Received,
            _ => Presence::Always,
        };
        Payload { address, count, presence }
    }

    /// Returns whether a `len` is a word's name, and not an expression of a field or a constant.
    fn is_word(&self, path: &[Ident]) -> bool {
        let [name] = path else { return true };
        match self.fields.iter().find(|field| field.ident == *name) {
            Some(field) => field.keys.has("word"),
            None => !names::text(name).starts_with(char::is_uppercase),
        }
    }

    /// Resolves `a`, a word, or `a.b`, a member of a plain field, neither repeated nor compared.
    fn word(&mut self, payload: &'a Field, path: &[Ident]) -> Option<WordRef> {
        let (root, members) = path.split_first()?;
        let Some(field) = self.fields.iter().find(|field| field.ident == *root) else {
            self.errors.on(root, messages::not_a_field(self.variant, root));
            return None;
        };
        let is_plain =
            !["word", "inline", "with", "echo", "header"].iter().any(|key| field.keys.has(key));
        if members.is_empty() && !field.keys.has("word") {
            self.errors.on(root, messages::not_a_word(root));
            return None;
        }
        if !members.is_empty() && !is_plain {
            self.errors.on(root, messages::not_a_plain_root(root));
            return None;
        }
        match self.taken.iter().find(|(taken, _)| taken == path) {
            Some((_, owner)) => {
                let word = path.iter().map(names::text).collect::<Vec<_>>().join(".");
                self.errors.on(path.last(), messages::word_taken(word, owner));
            }
            None => self.taken.push((path.to_vec(), &payload.ident)),
        }
        Some(match members {
            [] => WordRef::Field(field.at),
            _ => WordRef::Member(field.at, members.to_vec()),
        })
    }
}
