//! What the parts of a message's description are for.

use urom_abi::describe::{Field, FieldKind, Messages, Payload, Presence, Type, Variant};

/// All fields of a message's fixed part but the tag.
pub(super) fn fields<'a>(
    messages: &Messages,
    variant: &Variant,
) -> impl Iterator<Item = &'a Field> + use<'a> {
    messages.header.iter().chain(variant.fields)
}

/// Whether a field has a value of its own.
pub(super) fn is_value(field: &Field) -> bool {
    matches!(field.kind, FieldKind::Plain | FieldKind::Echo)
}

/// The word that says in which registered memory a payload lies.
pub(super) fn selector(variant: &Variant, payload: &Payload) -> Option<&'static Field> {
    let is_selector =
        |field: &&Field| matches!(field.kind, FieldKind::Selector { of } if of == payload.name);
    variant.fields.iter().find(is_selector)
}

/// Whether a payload may be left out, by its address word or by a condition.
pub(super) fn may_lack(payload: &Payload) -> bool {
    matches!(payload.presence, Presence::ByAddress | Presence::When(_))
}

/// Whether a row of this type is bytes and not numbers.
pub(super) fn is_byte(ty: &Type) -> bool {
    matches!(ty, Type::Int { bytes: 1, signed: false })
}
