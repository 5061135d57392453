//! The rules for a definition.

mod exprs;
mod fields;
mod header;
mod payloads;
mod types;

use std::collections::{HashMap, HashSet};

use heck::ToSnakeCase;
use proc_macro2::Ident;
use syn::{LitStr, Path};

use crate::diagnostics::{Errors, messages};
use crate::model::{Field, Messages, Variant};
use crate::{names, tokens};
pub(crate) use types::{is_number, is_primitive, unsafe_type};

/// The generic parameters of generated items, which would hide a variant of that name.
const PARAMETERS: [&str; 3] = ["AnyHost", "AnySide", "AnyHandler"];
/// Items of every protocol; `Command` by convention, as a notification macro cannot see the enum.
const ITEMS: [&str; 4] = ["Protocol", "Handler", "Client", "Command"];
const FUNCTIONS: [&str; 4] = ["decode", "encode", "encoded_len", "FIXED_LEN"];
const METHODS: [&str; 5] = ["open", "address", "progress", "host_left", "arm"];
pub(crate) const SETTERS: [&str; 3] = ["deadline", "submit", "submit_with"];

/// Checks a definition; returns whether two of its items would have the same name.
pub(crate) fn messages(model: &Messages, errors: &mut Errors) -> bool {
    tags(model, errors);
    let before = errors.count();
    items(model, errors);
    if model.plugin.is_some() {
        methods(model, errors);
    }
    let clashes = errors.count() > before || repeats_a_name(model) || is_taken_elsewhere(model);
    if let Some(plugin) = &model.plugin {
        plugin.name.iter().for_each(|name| plugin_name(name, errors));
        answers_and_setters(model, errors);
    }
    header::same_in_every_variant(model, errors);
    for variant in &model.variants {
        fields::keys(variant, errors);
        fields::types(model, variant, errors);
        payloads::payloads(model, variant, errors);
        exprs::expressions(variant, errors);
    }
    clashes
}

/// Returns whether `#[urom_notification]` refuses the name of an answer or of its enum.
fn is_taken_elsewhere(model: &Messages) -> bool {
    let taken = [ITEMS.as_slice(), &FUNCTIONS, &PARAMETERS].concat();
    let notification = model.plugin.as_ref().and_then(|plugin| plugin.notification.get_ident());
    notification.is_some_and(|name| ITEMS.contains(&&*names::text(name)))
        || reply_of(model, &taken).is_some()
}

/// Returns whether an answer has the name of the commands' enum, which is then omitted.
pub(crate) fn reply_is_enum(model: &Messages) -> bool {
    let own = names::text(&model.ident);
    !ITEMS.contains(&&*own) && reply_of(model, &[&own]).is_some()
}

fn reply_of<'a>(model: &'a Messages, names: &[&str]) -> Option<&'a Ident> {
    let replies = model.variants.iter().filter_map(|variant| variant.reply.as_ref()?.get_ident());
    replies.into_iter().find(|reply| names.contains(&&*names::text(reply)))
}

fn repeats_a_name(model: &Messages) -> bool {
    fn repeats<'a>(mut all: impl Iterator<Item = &'a Ident>) -> bool {
        let mut known = HashSet::new();
        !all.all(|name| known.insert(names::text(name)))
    }
    let fields = |variant: &Variant| repeats(variant.fields.iter().map(|field| &field.ident));
    repeats(model.variants.iter().map(|variant| &variant.ident))
        || model.variants.iter().any(fields)
}

pub(crate) fn lacks_lifetimes(model: &Messages) -> bool {
    let mut fields = model.variants.iter().flat_map(|variant| &variant.fields);
    fields.any(|field| lacks_lifetime(model, field))
}

pub(crate) fn lacks_lifetime(model: &Messages, field: &Field) -> bool {
    let is_own = |name: &Ident| model.lifetime.as_ref().is_some_and(|own| own.ident == *name);
    let borrows = model.is_borrowed() && field.is_payload() && field.shape.form.is_borrowed();
    borrows && !tokens::names_lifetime(&field.ty, is_own)
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

fn items(model: &Messages, errors: &mut Errors) {
    let mut owners = HashMap::<String, String>::new();
    if let Some(plugin) = &model.plugin {
        for reply in model.variants.iter().filter_map(|variant| variant.reply.as_ref()?.get_ident())
        {
            let owner = format!("the answer `{reply}`");
            owners.insert(names::text(&names::echo(reply)), owner.clone());
            // A command that is its own answer is reported elsewhere.
            if model.variants.iter().all(|variant| variant.ident != *reply) {
                owners.insert(names::text(reply), owner);
            }
        }
        let notification = plugin.notification.get_ident().map(names::text);
        owners.extend(notification.map(|name| (name, "the enum of notifications".to_owned())));
    }
    for (names, owner) in [
        (FUNCTIONS.as_slice(), "every enum of messages"),
        (ITEMS.as_slice(), "every protocol"),
        (PARAMETERS.as_slice(), "the generated code"),
    ] {
        owners.extend(names.iter().map(|name| ((*name).to_owned(), owner.to_owned())));
    }
    owners.insert(names::text(&model.ident), "the enum itself".to_owned());
    let own = names::text(&model.ident);
    if own != "Command" && ITEMS.contains(&&*own) {
        errors.on(&model.ident, messages::item_name_taken(&own, &own, "every protocol"));
    }
    let answer = reply_of(model, &[&own]);
    if let Some(answer) = answer.filter(|_| reply_is_enum(model)) {
        errors.on(answer, messages::item_name_taken(answer, answer, "the enum of commands"));
    }
    for variant in &model.variants {
        let ident = &variant.ident;
        let second = if model.is_borrowed() { names::task(ident) } else { names::echo(ident) };
        for name in [names::text(ident), names::text(&second)] {
            if let Some(owner) = claim(&mut owners, &name, variant) {
                errors.on(ident, messages::item_name_taken(ident, name, owner));
            }
        }
    }
}

/// Reserves `name` for the variant; returns its owner if another variant has it.
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
    }
    // The answers' structures share the module with the commands'.
    for reply in model.variants.iter().filter_map(|variant| variant.reply.as_ref()) {
        if model.variants.iter().any(|variant| reply.is_ident(&variant.ident)) {
            errors.on(reply, messages::reply_is_command(names::written(reply)));
        }
    }
}

fn answers_and_setters(model: &Messages, errors: &mut Errors) {
    for variant in &model.variants {
        let reply = variant.reply.as_ref();
        if let Some((reply, structure)) = reply.and_then(|of| Some((of, structure_of(model, of)?)))
        {
            let (found, structure) = (names::written(reply), names::written(structure));
            errors.on(reply, messages::reply_is_variant(found, structure));
        }
        let clashes = |field: &&Field| field.has_setter() && SETTERS.contains(&&*field.name());
        for field in variant.fields.iter().filter(clashes) {
            errors.on(&field.ident, messages::setter_name_taken(&field.ident));
        }
    }
}

/// Returns the intended structure when `reply` names a variant of the notification enum.
pub(crate) fn structure_of(model: &Messages, reply: &Path) -> Option<Path> {
    let last = reply.segments.last()?;
    let mut structure = model.plugin.as_ref()?.notification.clone();
    let is_variant = names::written(reply)
        == format!("{}::{last}", names::written(&structure), last = last.ident);
    *structure.segments.last_mut()? = last.clone();
    is_variant.then_some(structure)
}
