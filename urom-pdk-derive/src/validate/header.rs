//! Checks the header, which precedes the union: it comes first and is the same in every variant.

use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Messages, Variant};
use crate::names;

pub(super) fn same_in_every_variant(model: &Messages, errors: &mut Errors) {
    for variant in &model.variants {
        let late = variant.fields.iter().skip_while(|field| field.is_header());
        for field in late.filter(|field| field.is_header()) {
            errors.on(&field.ident, messages::header_late(&field.ident));
        }
    }
    // The error names the fields that the other variants lack.
    let longest = model.variants.iter().rev().max_by_key(|variant| variant.header().count());
    let Some(longest) = longest else { return };
    let expected = written(longest);
    for variant in &model.variants {
        let mut pairs = variant.header().zip(longest.header());
        match pairs.find(|(field, other)| text(field) != text(other)) {
            Some((field, other)) => {
                errors.on(
                    &field.ident,
                    messages::header_differs(text(field), &longest.ident, text(other)),
                );
            }
            None if variant.header().count() < longest.header().count() => {
                errors.on(
                    &variant.ident,
                    messages::header_lacks(&variant.ident, &longest.ident, &expected),
                );
            }
            None => {}
        }
    }
}

fn text(field: &Field) -> String {
    format!("{}: {}", field.ident, names::written(&field.ty))
}

fn written(variant: &Variant) -> String {
    variant.header().map(|field| format!("`{}`", text(field))).collect::<Vec<_>>().join(", ")
}
