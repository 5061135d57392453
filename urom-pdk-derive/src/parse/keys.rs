//! Which keys an enum, a variant and a field may have.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Expr, Ident, LitInt, LitStr, Member, Path, Type, parse_quote};

use super::Macro;
use crate::attrs::Keys;
use crate::diagnostics::{Errors, messages};
use crate::model::{Addr, FieldKeys, Len, Spanned, TagWidth};
use crate::names;
use crate::tokens::ungrouped;

/// `#[urom_command(...)]`, `#[urom_notification(...)]`.
pub(super) struct MessagesKeys {
    pub(super) plugin: Option<LitStr>,
    pub(super) version: Option<u64>,
    pub(super) notification: Path,
    pub(super) krate: Path,
    pub(super) tag: TagWidth,
}

impl MessagesKeys {
    pub(super) fn read(which: Macro, args: TokenStream, errors: &mut Errors) -> MessagesKeys {
        let mut keys = Keys::parse(args, errors);
        let (mut plugin, mut version, mut notification) = (None, None, None);
        if which == Macro::Command {
            let (example, number) = ("plugin = \"worker_name\"", "version = 1");
            plugin =
                required(&mut keys, "plugin", example, errors, |tokens| syn::parse2(tokens).ok());
            version = required(&mut keys, "version", number, errors, |tokens| {
                syn::parse2::<LitInt>(tokens).ok()?.base10_parse().ok()
            });
            notification =
                keys.value::<Path>("notification", "notification = Notification", errors);
        }
        let krate = keys.value::<Path>("crate", "crate = urom_abi", errors);
        let tag = keys.value::<Type>("tag", "tag = u64", errors);
        keys.finish(errors);
        MessagesKeys {
            plugin,
            version,
            notification: notification.map_or_else(|| parse_quote!(Notification), |key| key.value),
            krate: krate.map_or_else(|| parse_quote!(::urom_abi), |key| key.value),
            tag: tag.map_or(TagWidth::U64, |key| tag_type(&key.value, errors)),
        }
    }
}

/// A key that must be there.
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
    /// There is a reply, and its error was reported.
    pub(super) reply_is_wrong: bool,
}

impl VariantKeys {
    pub(super) fn read(
        which: Macro,
        attributes: &mut Vec<Attribute>,
        errors: &mut Errors,
    ) -> VariantKeys {
        let mut keys = Keys::take_helpers(attributes, errors);
        let tag = keys.value::<Expr>("tag", "tag = 1", errors);
        let (mut also, mut reply, mut given) = (None, None, false);
        match which {
            Macro::Command => {
                given = keys.has("reply");
                reply = keys.value::<Path>("reply", "reply = Done", errors);
                keys.refuse("also", "variants of `#[urom_notification]`", errors);
            }
            Macro::Notification => {
                also = keys.value::<Expr>("also", "also = 1", errors);
                keys.refuse("reply", "variants of `#[urom_command]`", errors);
            }
        }
        keys.finish(errors);
        VariantKeys {
            tag: tag.map(|key| key.value),
            also,
            reply_is_wrong: given && reply.is_none(),
            reply: reply.map(|key| key.value),
        }
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
