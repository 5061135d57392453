//! Checks that the length and presence keys of payloads fit their types.

use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Form, LenKind, Messages, Payload, Presence, Variant};
use crate::names;

pub(super) fn payloads(model: &Messages, variant: &Variant, errors: &mut Errors) {
    for (field, payload) in variant.payloads() {
        let form = field.shape.form;
        if if model.is_borrowed() { form.is_borrowed() } else { form.is_owned() } {
            length(field, payload, errors);
            presence(field, payload, errors);
        }
    }
}

fn length(Field { keys, shape, .. }: &Field, payload: &Payload, errors: &mut Errors) {
    let Some(len) = keys.spans.get("len") else { return };
    match payload.count {
        _ if shape.form == Form::Array => errors.at(*len, messages::length_of_array()),
        LenKind::Given(_) if shape.form.is_two_armed() => {
            let found = names::written(&shape.inner);
            errors.at(*len, messages::two_armed_words(found, "length"));
        }
        _ => {}
    }
}

fn presence(field: &Field, payload: &Payload, errors: &mut Errors) {
    let Field { keys, shape, ty, .. } = field;
    let found = names::written(&shape.inner);
    match (&payload.presence, keys.spans.get("unless")) {
        _ if shape.form.is_two_armed() => two_armed(field, &found, errors),
        (_, Some(unless)) => errors.at(*unless, messages::unless_without_data(found)),
        (Presence::When(_), _) if !shape.option => {
            errors.on(ty, messages::when_without_option(found));
        }
        (Presence::ByAddress, _) if keys.has_no_address() => {
            errors.on(ty, messages::option_without_address());
        }
        _ => {}
    }
}

/// `Data` and `Received` encode in their words whether bytes follow.
fn two_armed(field: &Field, found: &str, errors: &mut Errors) {
    let Field { keys, shape, ty, .. } = field;
    match (keys.spans.get("when"), &keys.unless) {
        (Some(when), None) => errors.at(*when, messages::says_itself(found, "when")),
        _ if shape.option => errors.on(ty, messages::says_itself(found, "Option")),
        _ => {}
    }
    if let Some(addr) = keys.spans.get("addr").filter(|_| keys.has_no_address()) {
        errors.at(*addr, messages::two_armed_words(found, "address"));
    }
    if shape.form == Form::Data && keys.unless.is_none() && keys.when.is_none() {
        errors.on(ty, messages::data_without_unless());
    }
}
