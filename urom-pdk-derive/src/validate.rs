//! The rules that a definition must keep.

mod exprs;
mod fields;
mod header;
mod payloads;
mod types;

use std::collections::{HashMap, HashSet};

use heck::ToSnakeCase;
use proc_macro2::Ident;
use syn::{LitStr, Path, PathSegment};

use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Kind, Messages, Variant};
use crate::names;
pub(crate) use types::{is_number, is_primitive, meaningless};

/// The generic parameters of generated items, which would hide a variant of that name.
pub(crate) const PARAMETERS: [&str; 3] = ["AnyHost", "AnySide", "AnyHandler"];
/// Items that `#[urom_command]` makes whatever the variants are.
const ITEMS: [&str; 3] = ["Protocol", "Handler", "Client"];
/// Methods that every handler has.
pub(crate) const METHODS: [&str; 3] = ["open", "address", "progress"];
/// Methods that every task has.
pub(crate) const SETTERS: [&str; 3] = ["deadline", "submit", "submit_with"];

pub(crate) fn messages(model: &Messages, errors: &mut Errors) {
    tags(model, errors);
    items(model, errors);
    if let Kind::Command(plugin) = &model.kind {
        if let Some(name) = &plugin.name {
            plugin_name(name, errors);
        }
        methods(model, errors);
        replies(model, errors);
    }
    header::same_in_every_variant(model, errors);
    for variant in &model.variants {
        fields::keys(variant, errors);
        fields::types(model, variant, errors);
        payloads::payloads(model, variant, errors);
        exprs::expressions(variant, errors);
    }
}

/// Whether two variants, or two fields of one, have the same name.
pub(crate) fn repeats_a_name(model: &Messages) -> bool {
    fn repeats<'a>(mut all: impl Iterator<Item = &'a Ident>) -> bool {
        let mut known = HashSet::new();
        !all.all(|name| known.insert(names::text(name)))
    }
    repeats(model.variants.iter().map(|variant| &variant.ident))
        || model
            .variants
            .iter()
            .any(|variant| repeats(variant.fields.iter().map(|field| &field.ident)))
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
        if let Some((also, span)) = variant.also.filter(|(also, _)| *also == variant.tag) {
            errors.at(span, messages::also_is_tag(also));
        }
        match owners.get(&variant.tag) {
            Some(owner) => errors.at(variant.tag_span, messages::tag_taken(variant.tag, owner)),
            None => {
                owners.insert(variant.tag, &variant.ident);
            }
        }
    }
}

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
            if let Some(owner) = claim(&mut owners, &name, variant) {
                errors.on(&variant.ident, messages::item_name_taken(&variant.ident, name, owner));
            }
        }
    }
}

/// Makes `name` the variant's; gives its owner when that is another one. Two variants of one name
/// are rustc's to report.
fn claim(owners: &mut HashMap<String, String>, name: &str, variant: &Variant) -> Option<String> {
    let own = format!("`{}`", variant.ident);
    let owner = owners.entry(name.to_owned()).or_insert_with(|| own.clone());
    (*owner != own).then(|| owner.clone())
}

fn methods(model: &Messages, errors: &mut Errors) {
    let mut owners =
        HashMap::from(METHODS.map(|name| (name.to_owned(), "every handler".to_owned())));
    for variant in &model.variants {
        let name = names::text(&variant.ident).to_snake_case();
        if let Some(owner) = claim(&mut owners, &name, variant) {
            errors.on(&variant.ident, messages::handler_name_taken(&variant.ident, name, owner));
        } else if names::method(&variant.ident).is_none() {
            errors.on(&variant.ident, messages::handler_name_reserved(&variant.ident, name));
        }
        let clashes = |field: &&Field| field.has_setter() && SETTERS.contains(&&*field.name());
        for field in variant.fields.iter().filter(clashes) {
            errors.on(&field.ident, messages::setter_name_taken(&field.ident));
        }
    }
}

/// Commands and notifications make structures side by side, so one name cannot be both.
fn replies(model: &Messages, errors: &mut Errors) {
    for reply in model.variants.iter().filter_map(|variant| variant.reply.as_ref()) {
        if let Some(structure) = structure_of(model, reply) {
            let (found, structure) = (names::written(reply), names::written(structure));
            errors.on(reply, messages::reply_is_variant(found, structure));
        }
        let is_command = |variant: &Variant| reply.is_ident(&variant.ident);
        if model.variants.iter().any(is_command) {
            errors.on(reply, messages::reply_is_command(names::written(reply)));
        }
    }
}

/// The structure that was meant when `reply` names a variant of the notification enum.
pub(crate) fn structure_of(model: &Messages, reply: &Path) -> Option<Path> {
    let Kind::Command(plugin) = &model.kind else { return None };
    let same = |(a, b): (&PathSegment, &PathSegment)| a.ident == b.ident;
    let of = &plugin.notification;
    let is_variant = reply.segments.len() == of.segments.len() + 1
        && reply.leading_colon.is_some() == of.leading_colon.is_some()
        && reply.segments.iter().zip(&of.segments).all(same);
    is_variant.then(|| {
        let segments = reply.segments.iter().enumerate();
        let kept = segments
            .filter(|(at, _)| at + 1 != of.segments.len())
            .map(|(_, segment)| segment.clone());
        Path { leading_colon: reply.leading_colon, segments: kept.collect() }
    })
}
