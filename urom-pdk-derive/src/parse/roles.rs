//! What a field's keys make of it: every key is interpreted here, once.

use proc_macro2::Ident;
use syn::parse_quote;

use crate::model::{Addr, Count, Field, Form, Len, Payload, Presence, Role, Word};

/// Gives each field its role. A name that is no field's is left for validation to report.
pub(super) fn assign(fields: &mut [Field]) {
    for at in 0..fields.len() {
        let keys = &fields[at].keys;
        fields[at].role = match &keys.with {
            _ if keys.word.is_some() => Role::Word,
            _ if keys.inline.is_some() => Role::Payload(Box::new(payload(fields, &fields[at]))),
            Some(codec) => Role::Codec(codec.value.clone()),
            None => Role::Plain,
        };
    }
}

fn payload(fields: &[Field], field: &Field) -> Payload {
    let (keys, shape) = (&field.keys, &field.shape);
    let address = match keys.addr.as_ref().map(|key| &key.value) {
        None => Some(Word::Own),
        Some(Addr::None) => None,
        Some(Addr::Path(path)) => word(fields, path),
    };
    let count = match keys.len.as_ref().map(|key| &key.value) {
        None if shape.form == Form::Array => Count::Fixed,
        None => Count::Word(Word::Own),
        Some(Len::Given(expr)) => Count::Given(expr.clone()),
        Some(Len::Path(path)) => match word(fields, path) {
            Some(Word::Field(at)) if fields[at].keys.word.is_none() => named(path),
            Some(word) => Count::Word(word),
            None => named(path),
        },
    };
    let unless = keys.unless.as_ref().and_then(|key| number(fields, &key.value));
    let presence = match (&keys.when, unless) {
        (Some(when), _) => Presence::When(when.value.clone()),
        (None, Some(word)) => Presence::Unless(word),
        (None, None) if shape.option => Presence::ByAddress,
        (None, None) if shape.form == Form::Received => Presence::Received,
        (None, None) => Presence::Always,
    };
    Payload { address, count, presence }
}

fn word(fields: &[Field], path: &[Ident]) -> Option<Word> {
    let (root, members) = path.split_first()?;
    let at = number(fields, root)?;
    Some(if members.is_empty() { Word::Field(at) } else { Word::Member(at, members.to_vec()) })
}

fn number(fields: &[Field], name: &Ident) -> Option<usize> {
    fields.iter().position(|field| field.ident == *name)
}

/// A length by the name of a field or a constant.
fn named(path: &[Ident]) -> Count {
    let path = path.iter();
    Count::Given(parse_quote!(#(#path).*))
}
