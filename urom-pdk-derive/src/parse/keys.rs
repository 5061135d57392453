//! The permitted keys of an enum, a variant and a field.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Expr, Ident, LitInt, Member, Path, Type, Variant, parse_quote};

use super::Macro;
use crate::attrs::Keys;
use crate::diagnostics::{Errors, messages};
use crate::model::{FieldKeys, Plugin, TagWidth};
use crate::names;
use crate::tokens::ungrouped;

pub(super) struct MessagesKeys {
    pub(super) plugin: Option<Plugin>,
    pub(super) peers: Option<u64>,
    pub(super) krate: Path,
    pub(super) tag: TagWidth,
}

impl MessagesKeys {
    pub(super) fn read(which: Macro, args: TokenStream, errors: &mut Errors) -> MessagesKeys {
        let mut keys = Keys::parse(args, errors);
        let version = |keys: &mut Keys, errors: &mut Errors| {
            let version = required(keys, "version", "version = 1", errors, |tokens| {
                syn::parse2::<LitInt>(tokens).ok()?.base10_parse().ok()
            });
            version.unwrap_or_default()
        };
        let (mut plugin, mut peers) = (None, None);
        match which {
            Macro::Notification => {}
            Macro::Message => peers = Some(version(&mut keys, errors)),
            Macro::Command => {
                let example = "plugin = \"worker_name\"";
                let name = |tokens| syn::parse2(tokens).ok();
                let name = required(&mut keys, "plugin", example, errors, name);
                let version = version(&mut keys, errors);
                let example = "notification = Notification";
                let notification = keys.value::<Path>("notification", example, errors);
                plugin = Some(Plugin {
                    name,
                    version,
                    notification: notification.unwrap_or_else(|| parse_quote!(Notification)),
                });
            }
        }
        let krate = match which {
            Macro::Message => {
                let pdk = keys.krate("urom_pdk", errors);
                parse_quote!(#pdk::__private::abi)
            }
            _ => keys.krate("urom_abi", errors),
        };
        let tag = keys.value::<Type>("tag", "tag = u64", errors);
        keys.finish(errors);
        MessagesKeys {
            plugin,
            peers,
            krate,
            tag: tag.map_or(TagWidth::U64, |ty| tag_type(&ty, errors)),
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
    keys.value_with(name, example, errors, read)
}

fn tag_type(ty: &Type, errors: &mut Errors) -> TagWidth {
    let name = names::written(ty);
    TagWidth::ALL.into_iter().find(|width| width.name() == name).unwrap_or_else(|| {
        errors.on(ty, messages::not_a_tag_type());
        TagWidth::U64
    })
}

pub(super) struct VariantKeys {
    pub(super) tag: Option<Expr>,
    pub(super) also: Option<Expr>,
    pub(super) reply: Option<Path>,
}

impl VariantKeys {
    pub(super) fn read(which: Macro, variant: &mut Variant, errors: &mut Errors) -> VariantKeys {
        let mut keys = Keys::take_helpers(&mut variant.attrs, errors);
        let tag = keys.value("tag", "tag = 1", errors);
        let (mut also, mut reply) = (None, None);
        match which {
            Macro::Command => {
                if !keys.has("reply") {
                    errors.on(&variant.ident, messages::no_reply(&variant.ident));
                }
                reply = keys.value("reply", "reply = Done", errors);
                keys.refuse("also", "variants of `#[urom_notification]`", errors);
            }
            Macro::Notification => {
                also = keys.value("also", "also = 1", errors);
                keys.refuse("reply", "variants of `#[urom_command]`", errors);
            }
            Macro::Message => {
                keys.refuse("also", "variants of `#[urom_notification]`", errors);
                keys.refuse("reply", "variants of `#[urom_command]`", errors);
            }
        }
        keys.finish(errors);
        VariantKeys { tag, also, reply }
    }
}

impl FieldKeys {
    pub(super) fn read(
        which: Macro,
        attributes: &mut Vec<Attribute>,
        errors: &mut Errors,
    ) -> FieldKeys {
        let mut keys = Keys::take_helpers(attributes, errors);
        let mut unless = None;
        match which {
            Macro::Command => {
                keys.flag("optional", errors);
                unless = keys.value("unless", "unless = other_field", errors);
            }
            Macro::Notification | Macro::Message => {
                for key in ["optional", "unless"] {
                    keys.refuse(key, "fields of `#[urom_command]`", errors);
                }
            }
        }
        match which {
            Macro::Message => keys.refuse("echo", "fields of a protocol's messages", errors),
            _ => keys.flag("echo", errors),
        }
        keys.flag("header", errors);
        keys.flag("word", errors);
        keys.flag("inline", errors);
        FieldKeys {
            with: keys.value("with", "with = module", errors),
            unless,
            when: keys.value("when", "when = other_field == 0", errors),
            len: keys.value("len", "len = other_field", errors),
            addr: keys.value_with("addr", "addr = other_field", errors, |tokens| {
                path(&syn::parse2(tokens).ok()?)
            }),
            spans: keys.finish(errors),
        }
    }
}

pub(crate) fn path(expr: &Expr) -> Option<Vec<Ident>> {
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
