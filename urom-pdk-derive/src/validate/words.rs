//! The words that payloads fill, as fields and as members of fields: each belongs to exactly one
//! payload.

use proc_macro2::Ident;
use quote::ToTokens;

use crate::diagnostics::{Errors, messages};
use crate::model::{Addr, Field, FieldKeys, Len, Role, Variant};
use crate::{names, tokens};

/// Checks every name in `addr`, `len` and `unless`, and every word.
pub(super) fn words(variant: &Variant, errors: &mut Errors) {
    let mut owners: Vec<(&[Ident], &Ident)> = Vec::new();
    for (payload, _) in variant.payloads() {
        for path in named(variant, &payload.keys) {
            if !is_right(variant, path, errors) {
                continue;
            }
            match owners.iter().find(|(taken, _)| *taken == path) {
                Some((_, owner)) => {
                    errors.on(path.last(), messages::word_taken(written(path), owner))
                }
                None => owners.push((path, &payload.ident)),
            }
        }
    }
    for word in variant.fields.iter().filter(|field| field.keys.word.is_some()) {
        // Where it is named wrongly, that was reported.
        let is_named = |field: &Field| mentions(&field.keys, &word.ident);
        if !variant.fields.iter().any(is_named) {
            errors.on(&word.ident, messages::word_unnamed(&word.ident));
        }
    }
}

fn named<'a>(variant: &Variant, keys: &'a FieldKeys) -> Vec<&'a [Ident]> {
    let mut paths = Vec::new();
    if let Some(Addr::Path(path)) = keys.addr.as_ref().map(|key| &key.value) {
        paths.push(path.as_slice());
    }
    if let Some(Len::Path(path)) = keys.len.as_ref().map(|key| &key.value) {
        let is_other_field = match path.as_slice() {
            [name] => match variant.field(name) {
                Some(field) => field.keys.word.is_none(),
                // A constant, and rustc knows whether there is one.
                None => names::text(name).starts_with(|first: char| first.is_uppercase()),
            },
            _ => false,
        };
        if !is_other_field {
            paths.push(path);
        }
    }
    paths.extend(keys.unless.as_ref().map(|key| std::slice::from_ref(&key.value)));
    paths
}

/// Whether `a` is a word, or `a.b` a member of a plain field that is neither repeated nor compared.
fn is_right(variant: &Variant, path: &[Ident], errors: &mut Errors) -> bool {
    let Some((root, members)) = path.split_first() else { return false };
    match variant.field(root) {
        Some(Field { role: Role::Word, .. }) if members.is_empty() => return true,
        Some(_) if members.is_empty() => errors.on(root, messages::not_a_word(root)),
        Some(field) if field.is_plain() && !field.is_echoed() && !field.is_header() => {
            return true;
        }
        Some(_) => errors.on(root, messages::not_a_plain_root(root)),
        None => errors.on(root, messages::not_a_field(&variant.ident, root)),
    }
    false
}

/// Whether a field's keys name a word anywhere, rightly or not.
fn mentions(keys: &FieldKeys, word: &Ident) -> bool {
    let in_path = |path: &[Ident]| path.first() == Some(word);
    let in_len = match keys.len.as_ref().map(|key| &key.value) {
        Some(Len::Path(path)) => in_path(path),
        Some(Len::Given(expr)) => tokens::mentions(expr.to_token_stream(), word),
        None => false,
    };
    let in_addr =
        matches!(keys.addr.as_ref().map(|key| &key.value), Some(Addr::Path(path)) if in_path(path));
    let in_when =
        keys.when.as_ref().is_some_and(|key| tokens::mentions(key.value.to_token_stream(), word));
    in_len || in_addr || in_when || keys.unless.as_ref().is_some_and(|key| key.value == *word)
}

fn written(path: &[Ident]) -> String {
    path.iter().map(names::text).collect::<Vec<_>>().join(".")
}
