//! Checks combinations of a field's keys, and its type.

use syn::Type;

use super::types::{Unsafe, payload_for, unsafe_element, unsafe_type};
use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Form, Messages, Role, Variant};
use crate::{names, tokens};

/// Keys that exclude each other, and why. The second one should be removed.
const CLASHES: [(&str, &str, &str); 11] = [
    ("word", "echo", "a word lacks a value of its own"),
    ("word", "header", "a word stands among its payload's fields"),
    ("word", "optional", "a word lacks a value of its own"),
    ("word", "with", "a word lacks a value of its own"),
    ("word", "inline", "a word lacks a value of its own"),
    ("inline", "echo", "a payload is too large to be repeated"),
    ("inline", "header", "a payload lies behind the fixed part"),
    ("inline", "with", "a payload travels as its own bytes"),
    ("with", "echo", "echoed fields are compared as plain bytes"),
    ("with", "header", "header fields are compared as plain bytes"),
    ("when", "unless", "either says whether the bytes follow"),
];

pub(super) fn keys(variant: &Variant, errors: &mut Errors) {
    for field in &variant.fields {
        for (key, other, why) in CLASHES {
            if let (true, Some(span)) = (field.keys.has(key), field.keys.spans.get(other)) {
                errors.at(*span, messages::keys_clash(other, key, why));
            }
        }
        for key in ["unless", "when", "len", "addr"] {
            if let (false, Some(span)) = (field.keys.has("inline"), field.keys.spans.get(key)) {
                errors.at(*span, messages::key_needs_inline(key));
            }
        }
    }
}

pub(super) fn types(model: &Messages, variant: &Variant, errors: &mut Errors) {
    for field in &variant.fields {
        match &field.role {
            Role::Codec(_) => borrows(field, errors),
            Role::Plain => plain(model, field, errors),
            Role::Word => word(&field.ty, errors),
            Role::Payload(_) => payload(model, field, errors),
        }
    }
}

fn plain(model: &Messages, field: &Field, errors: &mut Errors) {
    let form = field.shape.form;
    let mentions_payload_keys = field.keys.len.is_some() || field.keys.addr.is_some();
    let is_own_side = if model.is_borrowed() { form.is_borrowed() } else { form.is_owned() };
    if is_own_side && !mentions_payload_keys {
        errors.on(&field.ty, messages::payload_not_inline(names::written(&field.ty)));
    } else if let Some(wrong) = unsafe_type(&field.ty, model.is_borrowed()).filter(|_| !is_own_side)
    {
        cannot_travel(wrong, errors);
    } else if !form.is_borrowed() {
        borrows(field, errors);
    }
}

fn borrows(field: &Field, errors: &mut Errors) {
    if tokens::names_lifetime(&field.ty, |name| name != "static") {
        errors.on(&field.ty, messages::borrows_without_inline(names::written(&field.ty)));
    }
}

fn word(ty: &Type, errors: &mut Errors) {
    let name = names::written(ty);
    if !["u8", "u16", "u32", "u64"].contains(&name.as_str()) {
        errors.on(ty, messages::word_type(name));
    }
}

fn cannot_travel(Unsafe { culprit, why, instead }: Unsafe<'_>, errors: &mut Errors) {
    errors.on(culprit, messages::unsafe_type(names::written(culprit), why, instead));
}

const BORROWED: &str = "`&'a [u8]`, `&'a [u8; N]`, `&'a str`, `Elements<'a, T>`, `Data<'a>`";
const OWNED: &str = "`Payload`, `Payload<T>`, `Received`";

fn payload(model: &Messages, field: &Field, errors: &mut Errors) {
    let (shape, is_command) = (&field.shape, model.is_borrowed());
    let (found, ty) = (names::written(&shape.inner), &shape.inner);
    let expected = if is_command { BORROWED } else { OWNED };
    match (shape.form, shape.element.as_ref().map(names::written)) {
        (Form::Other, _) => match payload_for(ty, is_command) {
            Some(payload) => errors.on(ty, messages::use_payload(found, payload)),
            None => errors.on(ty, messages::not_a_payload(found, expected)),
        },
        (form, _) if is_command && form.is_owned() => {
            errors.on(ty, messages::owned_in_command(found, expected));
        }
        (form, _) if !is_command && form.is_borrowed() && model.refused_lifetime => {}
        (form, _) if !is_command && form.is_borrowed() => {
            errors.on(ty, messages::borrowed_in_notification(found, expected));
        }
        (Form::Slice | Form::Array, Some(element)) if element != "u8" => {
            errors.on(ty, messages::unaligned_slice(found, element));
        }
        _ if tokens::names_lifetime(ty, |name| name == "static") => {
            errors.on(ty, messages::static_payload())
        }
        _ => elements(field, is_command, errors),
    }
}

fn elements(field: &Field, is_command: bool, errors: &mut Errors) {
    let element = field.shape.element.as_ref();
    let wrong = element.and_then(|ty| unsafe_type(ty, is_command).or_else(|| unsafe_element(ty)));
    if let Some(wrong) = wrong {
        cannot_travel(wrong, errors);
    }
}
