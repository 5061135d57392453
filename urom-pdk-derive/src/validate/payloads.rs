//! Payloads and their keys: what says how long one is, and whether it is there, fits its type.

use crate::diagnostics::{Errors, messages};
use crate::model::{Count, Field, Form, Inline, Messages, Presence, Variant};
use crate::names;

/// The payloads and their keys.
pub(super) fn payloads(variant: &Variant) -> impl Iterator<Item = (&Field, &Inline)> {
    variant.payloads().map(|field| (field, &field.inline))
}

/// Whether the payload is of a form that this side can have; otherwise that was the mistake.
fn is_own_side(model: &Messages, payload: &Field) -> bool {
    let form = payload.shape().form;
    if model.is_command() { form.is_borrowed() } else { form.is_owned() }
}

/// What says how long a payload is fits its type.
pub(super) fn lengths(model: &Messages, variant: &Variant, errors: &mut Errors) {
    for (payload, keys) in payloads(variant).filter(|(payload, _)| is_own_side(model, payload)) {
        let (Some(len), shape) = (&keys.len, payload.shape()) else { continue };
        match variant.resolve(payload).count {
            _ if matches!(shape.form, Form::Array(_)) => {
                errors.at(len.span, messages::length_of_array())
            }
            Count::Given(_) if shape.form.is_two_armed() => {
                errors
                    .at(len.span, messages::two_armed_words(names::written(shape.inner), "length"));
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
        match variant.resolve(payload).presence {
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
