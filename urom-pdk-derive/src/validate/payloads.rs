//! Payloads and the fields that describe them: words, lengths, and what says whether a payload is there.

use proc_macro2::Ident;

use crate::diagnostics::{Errors, messages};
use crate::model::{Addr, Count, Field, Form, Inline, Len, Messages, Presence, Role, Variant};
use crate::names;

/// Each word belongs to exactly one payload, and each name in `addr`, `len` and `unless` is one of the variant's fields.
pub(super) fn words(variant: &Variant, errors: &mut Errors) {
    let mut owners: Vec<(&Ident, &Ident)> = Vec::new();
    for (payload, keys) in payloads(variant) {
        for named in named_words(variant, keys, errors) {
            match owners.iter().find(|(word, _)| *word == named) {
                Some((_, owner)) => errors.on(named, messages::word_taken(named, owner)),
                None => owners.push((named, &payload.ident)),
            }
        }
    }
    let all_named = |field: &&Field| !owners.iter().any(|(word, _)| **word == field.ident);
    // A word of a field that is no payload was reported there.
    for word in variant.fields.iter().filter(|field| field.word.is_some()).filter(all_named) {
        let mentioned =
            variant.fields.iter().any(|field| !field.is_payload() && mentions(&field.inline, &word.ident));
        if !mentioned {
            errors.on(&word.ident, messages::word_unnamed(&word.ident));
        }
    }
}

fn payloads(variant: &Variant) -> impl Iterator<Item = (&Field, &Inline)> {
    variant.fields.iter().filter_map(|field| match field.role() {
        Role::Payload(keys) => Some((field, keys)),
        _ => None,
    })
}

/// Whether the payload is of a form that this side can have; otherwise that was the mistake.
fn is_own_side(model: &Messages, payload: &Field) -> bool {
    let form = payload.shape().form;
    if model.is_command() { form.is_borrowed() } else { form.is_owned() }
}

fn mentions(keys: &Inline, word: &Ident) -> bool {
    let len = keys
        .len
        .as_ref()
        .is_some_and(|key| matches!(&key.value, Len::Path(path) if path[..] == [word.clone()]));
    let addr = keys
        .addr
        .as_ref()
        .is_some_and(|key| matches!(&key.value, Addr::Path(path) if path[..] == [word.clone()]));
    len || addr || keys.unless.as_ref().is_some_and(|key| key.value == *word)
}

/// The words that a payload's keys name. What they name wrongly is reported.
fn named_words<'a>(variant: &'a Variant, keys: &'a Inline, errors: &mut Errors) -> Vec<&'a Ident> {
    let mut words = Vec::new();
    let mut word = |name: &'a Ident, errors: &mut Errors| match variant.field(name) {
        Some(field) if field.word.is_some() => words.push(name),
        Some(_) => errors.on(name, messages::not_a_word(name)),
        None => errors.on(name, messages::not_a_field(&variant.ident, name)),
    };
    if let Some(Addr::Path(path)) = keys.addr.as_ref().map(|key| &key.value) {
        match path.as_slice() {
            [name] => word(name, errors),
            path => member(variant, path, errors),
        }
    }
    match keys.len.as_ref().map(|key| &key.value) {
        Some(Len::Path(path)) => match path.as_slice() {
            [name] if variant.field(name).is_some_and(|field| field.word.is_some()) => word(name, errors),
            // A constant has a name too, and rustc knows whether there is one.
            [name] if variant.field(name).is_none() && !is_constant(name) => word(name, errors),
            [_] => {}
            path => member(variant, path, errors),
        },
        Some(Len::Given(_)) | None => {}
    }
    if let Some(key) = &keys.unless {
        word(&key.value, errors);
    }
    words
}

fn is_constant(name: &Ident) -> bool {
    names::text(name).starts_with(|first: char| first.is_uppercase())
}

/// `a.b` names a member of a plain field that is not repeated or compared.
fn member(variant: &Variant, path: &[Ident], errors: &mut Errors) {
    let Some(root) = path.first() else { return };
    match variant.field(root) {
        None => errors.on(root, messages::not_a_field(&variant.ident, root)),
        Some(field) if !field.is_plain() || field.echo.is_some() || field.header.is_some() => {
            errors.on(root, messages::not_a_plain_root(root));
        }
        Some(_) => {}
    }
}

/// What says how long a payload is fits its type.
pub(super) fn lengths(model: &Messages, variant: &Variant, errors: &mut Errors) {
    for (payload, keys) in payloads(variant).filter(|(payload, _)| is_own_side(model, payload)) {
        let form = payload.shape().form;
        let span = |errors: &mut Errors, message| match &keys.len {
            Some(key) => errors.at(key.span, message),
            None => drop(message),
        };
        match variant.count(payload, keys) {
            _ if matches!(form, Form::Array(_)) && keys.len.is_some() => {
                span(errors, messages::length_of_array());
            }
            Count::Given(_) if form.is_two_armed() => {
                span(errors, messages::two_armed_words(names::written(payload.shape().inner), "length"));
            }
            _ => {}
        }
    }
}

/// What says whether a payload is there fits its type.
pub(super) fn presence(model: &Messages, variant: &Variant, errors: &mut Errors) {
    for (payload, keys) in payloads(variant).filter(|(payload, _)| is_own_side(model, payload)) {
        let shape = payload.shape();
        let found = names::written(shape.inner);
        let when = keys.when.as_ref();
        if shape.form.is_two_armed() {
            two_armed(payload, keys, errors);
            continue;
        }
        if let Some(unless) = &keys.unless {
            errors.at(unless.span, messages::unless_without_data(found));
            continue;
        }
        match variant.presence(payload, keys) {
            Presence::When(_) if !shape.option => {
                errors.on(&payload.ty, messages::when_without_option(found));
            }
            Presence::ByAddress if when.is_none() && keys.addr_is_none() => {
                errors.on(&payload.ty, messages::option_without_address());
            }
            _ => {}
        }
    }
}

/// `Data` and `Received` say themselves whether bytes follow, through their words.
fn two_armed(payload: &Field, keys: &Inline, errors: &mut Errors) {
    let shape = payload.shape();
    let found = names::written(shape.inner);
    let says_itself = |what: &str| messages::says_itself(&found, what);
    match (&keys.when, &keys.unless) {
        (Some(when), None) => errors.at(when.span, says_itself("when")),
        _ if shape.option => errors.on(&payload.ty, says_itself("Option")),
        _ => {}
    }
    if let Some(addr) = keys.addr.as_ref().filter(|_| keys.addr_is_none()) {
        errors.at(addr.span, messages::two_armed_words(&found, "address"));
    }
    if matches!(shape.form, Form::Data) && keys.unless.is_none() && keys.when.is_none() {
        errors.on(&payload.ty, messages::data_without_unless());
    }
}
