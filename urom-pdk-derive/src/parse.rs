//! From tokens to the model; `validate` checks the combination.

mod above;
pub(crate) mod keys;
mod lifetimes;
mod own_name;
pub(crate) mod plugin;
mod roles;

use proc_macro2::{Ident, Span, TokenStream};
use quote::ToTokens;
use syn::punctuated::Punctuated;
use syn::spanned::Spanned;
use syn::{Attribute, Expr, ExprLit, Fields, Item, ItemEnum, Lit, Meta, Path, Token, parse_quote};

use crate::diagnostics::{Errors, messages};
use crate::model::{Field, FieldKeys, Messages, Role, Shape, TagWidth, Variant};
use crate::{names, tokens};
use keys::{MessagesKeys, VariantKeys};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Macro {
    Command,
    Notification,
    Message,
}

impl Macro {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Macro::Command => "urom_command",
            Macro::Notification => "urom_notification",
            Macro::Message => "urom_message",
        }
    }
}

/// The user's item, to be emitted again, and its model; `None` when it is not an enum.
pub(crate) struct ParsedMessages {
    pub(crate) item: TokenStream,
    pub(crate) model: Option<Messages>,
}

/// Reads an enum of messages. Mistakes are added to `errors` and left out of the model.
pub(crate) fn messages(
    which: Macro,
    args: TokenStream,
    item: TokenStream,
    errors: &mut Errors,
) -> ParsedMessages {
    let mut item_enum = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Enum(item_enum)) => own_name::named(item_enum),
        Ok(other) => {
            let (found, name) = describe(&other);
            errors.on(name, messages::not_an_enum(which.name(), found));
            return ParsedMessages { item, model: None };
        }
        Err(error) => {
            errors.syntax(error);
            return ParsedMessages { item, model: None };
        }
    };
    let keys = MessagesKeys::read(which, args, errors);
    let above = above::derives();
    if above.is_some() {
        errors.at(Span::call_site(), messages::derive_above(which.name()));
    }
    let misplaced = |attribute: &mut Attribute| attribute.path().is_ident("urom");
    for attribute in item_enum.attrs.extract_if(.., misplaced) {
        errors.on(attribute, messages::attribute_on_enum(which.name()));
    }
    let lifetime = lifetimes::declared(which, &item_enum, errors);
    let refused_lifetime =
        which == Macro::Notification && item_enum.generics.lifetimes().next().is_some();
    if refused_lifetime {
        lifetimes::remove(&mut item_enum);
    }
    let allowed = allowed(&item_enum);
    let variants = variants(which, &mut item_enum, keys.tag, above.is_some(), errors);
    let model = Messages {
        plugin: keys.plugin,
        peers: keys.peers,
        ident: item_enum.ident.clone(),
        docs: docs(&item_enum.attrs),
        vis: item_enum.vis.clone(),
        krate: keys.krate,
        tag: keys.tag,
        generics: item_enum.generics.clone(),
        lifetime,
        refused_lifetime,
        derives: shared_derives(&item_enum.attrs, above.as_deref()),
        allowed,
        variants,
    };
    ParsedMessages { item: item_enum.into_token_stream(), model: Some(model) }
}

fn variants(
    which: Macro,
    item: &mut ItemEnum,
    tag: TagWidth,
    keep_words: bool,
    errors: &mut Errors,
) -> Vec<Variant> {
    if item.variants.is_empty() {
        errors.on(&item.ident, messages::no_variants(&item.ident));
    }
    let mut variants = Vec::new();
    let mut next_tag = Some(0);
    for variant in &mut item.variants {
        let keys = VariantKeys::read(which, variant, errors);
        refuse_cfg(&mut variant.attrs, errors);
        if let Some((_, value)) = variant.discriminant.take() {
            errors.on(value, messages::tag_as_discriminant());
        }
        let stated = keys.tag.and_then(|stated| literal_tag(&stated, tag, errors));
        let own = stated.or(next_tag.map(|next| (next, variant.ident.span())));
        if own.is_none() {
            errors.on(&variant.ident, messages::no_tag_left(tag.most()));
        }
        let next = own.and_then(|(own, _)| own.checked_add(1));
        next_tag = next.filter(|next| *next <= tag.most());
        let also = keys.also.and_then(|also| literal_tag(&also, tag, errors));
        let fields = fields(which, variant, keep_words, errors);
        let lacks_reply = which == Macro::Command && keys.reply.is_none();
        let (Some(fields), Some((tag, tag_span)), false) = (fields, own, lacks_reply) else {
            continue;
        };
        variants.push(Variant {
            ident: variant.ident.clone(),
            docs: docs(&variant.attrs),
            tag,
            tag_span,
            also,
            reply: keys.reply,
            fields,
        });
    }
    variants
}

fn literal_tag(stated: &Expr, tag: TagWidth, errors: &mut Errors) -> Option<(u64, Span)> {
    let value = match tokens::ungrouped(stated) {
        Expr::Lit(ExprLit { lit: Lit::Int(int), .. }) => int.base10_parse::<u64>().ok(),
        _ => None,
    };
    let value = value.filter(|value| *value <= tag.most());
    if value.is_none() {
        errors.on(stated, messages::tag_not_a_literal(tag.most()));
    }
    Some((value?, stated.span()))
}

/// Returns the variant's fields, or `None` if they are unnamed. Words are removed from the
/// user's enum, unless a derive above the macro has already expanded with them.
fn fields(
    which: Macro,
    variant: &mut syn::Variant,
    keep_words: bool,
    errors: &mut Errors,
) -> Option<Vec<Field>> {
    let named = match &mut variant.fields {
        Fields::Unit => return Some(Vec::new()),
        Fields::Named(named) => named,
        Fields::Unnamed(unnamed) => {
            for field in &mut unnamed.unnamed {
                field.attrs.retain(|attribute| !attribute.path().is_ident("urom"));
            }
            errors.on(&variant.fields, messages::unnamed_fields(&variant.ident));
            return None;
        }
    };
    let (mut fields, mut kept) = (Vec::new(), Punctuated::new());
    for mut field in std::mem::take(&mut named.named) {
        let keys = FieldKeys::read(which, &mut field.attrs, errors);
        refuse_cfg(&mut field.attrs, errors);
        let is_kept = !keys.has("word") || keep_words;
        if let Some(ident) = field.ident.clone() {
            fields.push(Field {
                stem: names::stem(&variant.ident, &ident),
                ident,
                at: fields.len(),
                ty: field.ty.clone(),
                docs: docs(&field.attrs),
                keys,
                shape: Shape::of(&field.ty),
                role: Role::Plain,
            });
        }
        if is_kept {
            kept.push(field);
        }
    }
    roles::assign(&variant.ident, &mut fields, errors);
    named.named = kept;
    Some(fields)
}

/// Removes `cfg` attributes from a message, so that rustc does not report them again.
fn refuse_cfg(attributes: &mut Vec<Attribute>, errors: &mut Errors) {
    for attribute in attributes.extract_if(.., |attribute| is_conditional(&attribute.meta)) {
        errors.on(attribute, messages::conditional());
    }
}

/// Returns whether an attribute is `cfg`, or a `cfg_attr` that adds a `cfg` or keys of ours.
fn is_conditional(meta: &Meta) -> bool {
    match meta {
        Meta::List(list) if list.path.is_ident("cfg_attr") => {
            let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
            let added = parts.into_iter().flatten().skip(1);
            added.into_iter().any(|meta| meta.path().is_ident("urom") || is_conditional(&meta))
        }
        meta => meta.path().is_ident("cfg"),
    }
}

fn docs(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes.iter().filter(|attribute| attribute.path().is_ident("doc")).cloned().collect()
}

/// Returns an attribute with all allowed lints of the definition, and `deprecated` if used.
fn allowed(item: &ItemEnum) -> Option<Attribute> {
    let inner = item.variants.iter().flat_map(|variant| {
        variant.attrs.iter().chain(variant.fields.iter().flat_map(|field| &field.attrs))
    });
    let mut lints = Vec::new();
    for attribute in item.attrs.iter().chain(inner) {
        match &attribute.meta {
            Meta::List(list) if list.path.is_ident("allow") || list.path.is_ident("expect") => {
                // Drops the user's reason, which applies to the definition only.
                let items = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated);
                let items = items.into_iter().flatten();
                lints.extend(items.filter(|item| matches!(item, Meta::Path(_))));
            }
            meta if meta.path().is_ident("deprecated") => lints.push(parse_quote!(deprecated)),
            _ => {}
        }
    }
    let is_any = !lints.is_empty();
    is_any.then(|| parse_quote!(#[allow(#(#lints,)* reason = "the definition allows this")]))
}

/// Returns the enum's derives for its variants' structures, including attributes `above` the macro.
fn shared_derives(attributes: &[Attribute], above: Option<&str>) -> Vec<Path> {
    const SHARED: [&str; 8] =
        ["Clone", "Copy", "Debug", "PartialEq", "Eq", "PartialOrd", "Ord", "Hash"];
    let above =
        above.into_iter().flat_map(|above| SHARED.map(|name| (name, above::names(above, name))));
    let above = above.filter(|(_, is_named)| *is_named);
    let mut derives =
        above.map(|(name, _)| Ident::new(name, Span::call_site()).into()).collect::<Vec<Path>>();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        let _ = attribute.parse_nested_meta(|meta| {
            let last = meta.path.segments.last();
            if last.is_some_and(|last| SHARED.iter().any(|name| last.ident == name)) {
                derives.push(meta.path);
            }
            Ok(())
        });
    }
    derives
}

/// Returns an item's kind and name, so that an error does not underline the whole item.
fn describe(item: &Item) -> (&'static str, TokenStream) {
    match item {
        Item::Enum(item) => ("an enum", item.ident.to_token_stream()),
        Item::Struct(item) => ("a struct", item.ident.to_token_stream()),
        Item::Union(item) => ("a union", item.ident.to_token_stream()),
        Item::Fn(item) => ("a function", item.sig.ident.to_token_stream()),
        Item::Trait(item) => ("a trait", item.ident.to_token_stream()),
        Item::Impl(item) if item.trait_.is_none() => {
            ("an inherent impl", item.self_ty.to_token_stream())
        }
        Item::Impl(item) => ("an impl", item.self_ty.to_token_stream()),
        Item::Mod(item) => ("a module", item.ident.to_token_stream()),
        other => ("this item", other.to_token_stream()),
    }
}
