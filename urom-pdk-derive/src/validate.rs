//! The rules that a definition must keep, and what this version of the kit does not carry yet.

use std::collections::HashMap;

use proc_macro2::Ident;
use syn::{LitStr, Type};

use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Kind, Messages, Place, TagWidth, Variant};
use crate::names;

/// The names of the generic parameters of generated items; a variant of that name would be hidden by them.
pub(crate) const PARAMETERS: [&str; 4] = ["AnyHost", "AnySide", "AnyHandler", "AnyCallback"];
/// Items that `#[urom_command]` makes whatever the variants are.
const ITEMS: [&str; 3] = ["Protocol", "Handler", "Client"];
/// Methods that every handler has.
pub(crate) const METHODS: [&str; 3] = ["open", "address", "progress"];
/// Methods that every task has.
pub(crate) const SETTERS: [&str; 2] = ["submit", "submit_with"];

/// Checks an enum of messages.
pub(crate) fn messages(model: &Messages, errors: &mut Errors) {
    if model.tag.width != TagWidth::U64 {
        errors.at(model.tag.span, messages::unsupported_tag_type(model.tag.width.name()));
    }
    if let Some(lifetime) = &model.lifetime {
        errors.on(lifetime, messages::unsupported_lifetime(lifetime));
    }
    tags(model, errors);
    items(model, errors);
    if let Kind::Command(plugin) = &model.kind {
        if let Some(name) = &plugin.name {
            plugin_name(name, errors);
        }
        methods(model, errors);
        replies(model, errors);
    }
    for field in model.variants.iter().flat_map(|variant| &variant.fields) {
        place(field, errors);
        if model.lifetime.is_none()
            && let Some((culprit, why, instead)) = unsafe_type(&field.ty)
        {
            errors.on(culprit, messages::unsafe_type(names::written(culprit), why, instead));
        }
    }
}

fn plugin_name(name: &LitStr, errors: &mut Errors) {
    let text = name.value();
    if !(1..=47).contains(&text.len()) {
        errors.on(name, messages::name_length(text.len()));
    }
    for (byte, what) in [('\0', "a NUL"), ('/', "a `/`")] {
        if text.contains(byte) {
            errors.on(name, messages::name_byte(what));
        }
    }
}

fn tags(model: &Messages, errors: &mut Errors) {
    let mut owners = HashMap::new();
    for variant in &model.variants {
        match owners.get(&variant.tag) {
            Some(owner) => errors.at(variant.tag_span, messages::tag_taken(variant.tag, owner)),
            None => {
                owners.insert(variant.tag, &variant.ident);
            }
        }
    }
}

/// The items that a variant makes.
pub(crate) fn items_of(model: &Messages, variant: &Variant) -> Vec<Ident> {
    let second = match model.kind {
        Kind::Command(_) => names::task(&variant.ident),
        Kind::Notification => names::echo(&variant.ident),
    };
    vec![variant.ident.clone(), second]
}

/// Items that stand in the module before any variant makes its own, and what they belong to.
pub(crate) fn fixed_items(model: &Messages) -> HashMap<String, String> {
    let mut items = HashMap::from([(names::text(&model.ident), "the enum itself".to_owned())]);
    if let Kind::Command(_) = model.kind {
        items.extend(ITEMS.map(|name| (name.to_owned(), "every protocol".to_owned())));
    }
    items.extend(PARAMETERS.map(|name| (name.to_owned(), "the generated code".to_owned())));
    items
}

fn items(model: &Messages, errors: &mut Errors) {
    let mut owners = fixed_items(model);
    for variant in &model.variants {
        for item in items_of(model, variant) {
            let name = names::text(&item);
            match owners.get(&name) {
                // Two variants of one name are rustc's to report.
                Some(owner) if *owner == quoted(&variant.ident) => {}
                Some(owner) => {
                    errors.on(&variant.ident, messages::item_name_taken(&variant.ident, name, owner));
                }
                None => {
                    owners.insert(name, quoted(&variant.ident));
                }
            }
        }
    }
}

fn methods(model: &Messages, errors: &mut Errors) {
    let mut owners = HashMap::from(METHODS.map(|name| (name.to_owned(), "every handler".to_owned())));
    for variant in &model.variants {
        let name = names::snake_case(&names::text(&variant.ident));
        match owners.get(&name) {
            Some(owner) if *owner == quoted(&variant.ident) => {}
            Some(owner) => {
                errors.on(&variant.ident, messages::handler_name_taken(&variant.ident, name, owner));
            }
            None if names::method(&variant.ident).is_none() => {
                errors.on(&variant.ident, messages::handler_name_reserved(&variant.ident, name));
            }
            None => {
                owners.insert(name, quoted(&variant.ident));
            }
        }
        for field in variant.echoed().filter(|field| SETTERS.iter().any(|name| field.ident == name)) {
            errors.on(&field.ident, messages::setter_name_taken(&field.ident));
        }
    }
}

/// Commands and notifications make structures side by side, so one name cannot be both.
fn replies(model: &Messages, errors: &mut Errors) {
    for reply in model.variants.iter().filter_map(|variant| variant.reply.as_ref()) {
        let is_command = |variant: &Variant| reply.is_ident(&variant.ident);
        if model.variants.iter().any(is_command) {
            errors.on(reply, messages::reply_is_command(names::written(reply)));
        }
    }
}

fn quoted(ident: &Ident) -> String {
    format!("`{ident}`")
}

fn place(field: &Field, errors: &mut Errors) {
    let first = match &field.place {
        Place::Plain => None,
        Place::Header { span } => Some(("header", *span)),
        Place::Codec(codec) => Some(("with", codec.span)),
        Place::Inline(inline) => inline.spans().next(),
    };
    if let Some((key, span)) = first {
        errors.at(span, messages::unsupported_key(key));
    }
}

/// Why a type can never travel, when its spelling already tells, and what to use in its place.
pub(crate) fn unsafe_type(ty: &Type) -> Option<(&Type, &'static str, &'static str)> {
    const HANDLE: &str = "a `u64` that names an entry of a table";
    match ty {
        Type::Array(array) => unsafe_type(&array.elem),
        Type::Group(group) => unsafe_type(&group.elem),
        Type::Paren(paren) => unsafe_type(&paren.elem),
        Type::Reference(_) | Type::Ptr(_) => {
            Some((ty, "an address of one process means nothing in another", HANDLE))
        }
        Type::FnPtr(_) => Some((ty, "code of one process is not there in another", HANDLE)),
        Type::Slice(_) => Some((ty, "its length is not known beforehand", "an array of a fixed length")),
        Type::Path(path) if path.qself.is_none() => {
            let name = path.path.segments.last()?.ident.to_string();
            let (why, instead) = match name.as_str() {
                "usize" => ("its size depends on the machine", "`u64`"),
                "isize" => ("its size depends on the machine", "`i64`"),
                "bool" => ("most bytes are no `bool`", "`u8`"),
                "char" => ("most numbers are no `char`", "`u32`"),
                "str" => ("its length is not known beforehand", "an array of bytes"),
                _ => return None,
            };
            Some((ty, why, instead))
        }
        _ => None,
    }
}

/// Whether a type is a primitive number or an array of them, which can do everything that structures can derive.
pub(crate) fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64"];
    match ty {
        Type::Array(array) => is_number(&array.elem),
        Type::Group(group) => is_number(&group.elem),
        Type::Paren(paren) => is_number(&paren.elem),
        Type::Path(path) => {
            path.path.get_ident().is_some_and(|ident| NUMBERS.iter().any(|name| ident == name))
        }
        _ => false,
    }
}
