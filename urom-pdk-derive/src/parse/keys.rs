//! Which keys an enum, a variant and a field may have.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Expr, Ident, LitInt, Member, Path, Type, Variant, parse_quote};

use super::Macro;
use crate::attrs::Keys;
use crate::diagnostics::{Errors, messages};
use crate::model::{Addr, FieldKeys, Kind, Len, Plugin, Spanned, TagWidth};
use crate::names;
use crate::tokens::ungrouped;

/// `#[urom_command(...)]`, `#[urom_notification(...)]`.
pub(super) struct MessagesKeys {
    pub(super) kind: Kind,
    pub(super) krate: Path,
    pub(super) tag: TagWidth,
}

impl MessagesKeys {
    pub(super) fn read(which: Macro, args: TokenStream, errors: &mut Errors) -> MessagesKeys {
        let mut keys = Keys::parse(args, errors);
        let kind = match which {
            Macro::Notification => Kind::Notification,
            Macro::Command => {
                let (example, number) = ("plugin = \"worker_name\"", "version = 1");
                let name = |tokens| syn::parse2(tokens).ok();
                let name = required(&mut keys, "plugin", example, errors, name);
                let version = required(&mut keys, "version", number, errors, |tokens| {
                    syn::parse2::<LitInt>(tokens).ok()?.base10_parse().ok()
                });
                let example = "notification = Notification";
                let notification = keys.value::<Path>("notification", example, errors);
                Kind::Command(Plugin {
                    name,
                    version: version.unwrap_or_default(),
                    notification: notification
                        .map_or_else(|| parse_quote!(Notification), |key| key.value),
                })
            }
        };
        let krate = keys.value::<Path>("crate", "crate = urom_abi", errors);
        let tag = keys.value::<Type>("tag", "tag = u64", errors);
        keys.finish(errors);
        MessagesKeys {
            kind,
            krate: krate.map_or_else(|| parse_quote!(::urom_abi), |key| key.value),
            tag: tag.map_or(TagWidth::U64, |key| tag_type(&key.value, errors)),
        }
    }
}

fn required<T>(
    keys: &mut Keys,
    name: &'static str,
    example: &str,
    errors: &mut Errors,
    read: impl FnOnce(TokenStream) -> Option<T>,
) -> Option<T> {
    if !keys.has(name) {
        errors.at(Span::call_site(), messages::missing_key(name, example));
    }
    keys.value_with(name, example, errors, read).map(|key| key.value)
}

fn tag_type(ty: &Type, errors: &mut Errors) -> TagWidth {
    let name = names::written(ty);
    TagWidth::ALL.into_iter().find(|width| width.name() == name).unwrap_or_else(|| {
        errors.on(ty, messages::not_a_tag_type());
        TagWidth::U64
    })
}

/// `#[urom(...)]` on a variant.
pub(super) struct VariantKeys {
    pub(super) tag: Option<Expr>,
    pub(super) also: Option<Spanned<Expr>>,
    pub(super) reply: Option<Path>,
}

impl VariantKeys {
    pub(super) fn read(which: Macro, variant: &mut Variant, errors: &mut Errors) -> VariantKeys {
        let mut keys = Keys::take_helpers(&mut variant.attrs, errors);
        let tag = keys.value::<Expr>("tag", "tag = 1", errors);
        let (mut also, mut reply) = (None, None);
        match which {
            Macro::Command => {
                if !keys.has("reply") {
                    errors.on(&variant.ident, messages::no_reply(&variant.ident));
                }
                reply = keys.value::<Path>("reply", "reply = Done", errors);
                keys.refuse("also", "variants of `#[urom_notification]`", errors);
            }
            Macro::Notification => {
                also = keys.value::<Expr>("also", "also = 1", errors);
                keys.refuse("reply", "variants of `#[urom_command]`", errors);
            }
        }
        keys.finish(errors);
        VariantKeys { tag: tag.map(|key| key.value), also, reply: reply.map(|key| key.value) }
    }
}

impl FieldKeys {
    /// `#[urom(...)]` on a field.
    pub(super) fn read(
        which: Macro,
        attributes: &mut Vec<Attribute>,
        errors: &mut Errors,
    ) -> FieldKeys {
        let mut keys = Keys::take_helpers(attributes, errors);
        let (mut optional, mut unless) = (None, None);
        match which {
            Macro::Command => {
                optional = keys.flag("optional", errors);
                unless = keys.value("unless", "unless = other_field", errors);
            }
            Macro::Notification => {
                for key in ["optional", "unless"] {
                    keys.refuse(key, "fields of `#[urom_command]`", errors);
                }
            }
        }
        let found = FieldKeys {
            echo: keys.flag("echo", errors),
            header: keys.flag("header", errors),
            optional,
            word: keys.flag("word", errors),
            with: keys.value("with", "with = module", errors),
            inline: keys.flag("inline", errors),
            unless,
            when: keys.value("when", "when = other_field == 0", errors),
            len: keys.value_with("len", "len = other_field", errors, len),
            addr: keys.value_with("addr", "addr = other_field", errors, addr),
        };
        keys.finish(errors);
        found
    }
}

fn len(tokens: TokenStream) -> Option<Len> {
    let expr = ungrouped(&syn::parse2(tokens).ok()?).clone();
    Some(match path(&expr) {
        Some(path) => Len::Path(path),
        None => Len::Given(expr),
    })
}

fn addr(tokens: TokenStream) -> Option<Addr> {
    let path = path(&syn::parse2(tokens).ok()?)?;
    match path.as_slice() {
        [only] if only == "none" => Some(Addr::None),
        _ => Some(Addr::Path(path)),
    }
}

/// `a` or `a.b.c`.
fn path(expr: &Expr) -> Option<Vec<Ident>> {
    match ungrouped(expr) {
        Expr::Path(path) => Some(vec![path.path.get_ident()?.clone()]),
        Expr::Field(field) => {
            let mut path = path(&field.base)?;
            let Member::Named(member) = &field.member else { return None };
            path.push(member.clone());
            Some(path)
        }
        _ => None,
    }
}
