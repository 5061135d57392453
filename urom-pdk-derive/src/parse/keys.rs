//! Which keys an enum, a variant and a field may have.

use proc_macro2::{Span, TokenStream};
use syn::{Attribute, Expr, Ident, LitInt, LitStr, Path, Type, parse_quote};

use super::Macro;
use crate::attrs::Keys;
use crate::diagnostics::{Errors, messages};
use crate::model::{Inline, Place, TagType, TagWidth};

/// `#[urom_command(...)]`, `#[urom_notification(...)]`.
pub(super) struct MessagesKeys {
    pub(super) plugin: Option<LitStr>,
    pub(super) version: Option<u64>,
    pub(super) notification: Path,
    pub(super) krate: Path,
    pub(super) tag: TagType,
}

impl MessagesKeys {
    pub(super) fn read(which: Macro, args: TokenStream, errors: &mut Errors) -> MessagesKeys {
        let mut keys = Keys::parse(args, errors);
        let (mut plugin, mut version, mut notification) = (None, None, None);
        if which == Macro::Command {
            let (example, number) = ("plugin = \"worker_name\"", "version = 1");
            plugin = required(&mut keys, "plugin", example, errors, |tokens| syn::parse2(tokens).ok());
            version = required(&mut keys, "version", number, errors, |tokens| {
                syn::parse2::<LitInt>(tokens).ok()?.base10_parse().ok()
            });
            notification = keys.value::<Path>("notification", "notification = Notification", errors);
        }
        let krate = keys.value::<Path>("crate", "crate = urom_abi", errors);
        let tag = keys.value::<Type>("tag", "tag = u64", errors);
        keys.finish(errors);
        MessagesKeys {
            plugin,
            version,
            notification: notification.map_or_else(|| parse_quote!(Notification), |key| key.value),
            krate: krate.map_or_else(|| parse_quote!(::urom_abi), |key| key.value),
            tag: tag.map_or(TagType { width: TagWidth::U64, span: Span::call_site() }, |key| {
                tag_type(&key.value, errors)
            }),
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

fn tag_type(ty: &Type, errors: &mut Errors) -> TagType {
    let span = syn::spanned::Spanned::span(ty);
    let named = |width: &TagWidth| matches!(ty, Type::Path(path) if path.path.is_ident(width.name()));
    let width = TagWidth::ALL.into_iter().find(named).unwrap_or_else(|| {
        errors.on(ty, messages::not_a_tag_type());
        TagWidth::U64
    });
    TagType { width, span }
}

/// `#[urom(...)]` on a variant.
pub(super) struct VariantKeys {
    pub(super) tag: Option<Expr>,
    pub(super) reply: Option<Path>,
    /// There is a reply, and its error was reported.
    pub(super) reply_is_wrong: bool,
}

impl VariantKeys {
    pub(super) fn read(which: Macro, attributes: &mut Vec<Attribute>, errors: &mut Errors) -> VariantKeys {
        let mut keys = Keys::take_helpers(attributes, errors);
        let tag = keys.value::<Expr>("tag", "tag = 1", errors);
        let (mut reply, mut given) = (None, false);
        if which == Macro::Command {
            given = keys.has("reply");
            reply = keys.value::<Path>("reply", "reply = Done", errors);
        }
        keys.finish(errors);
        VariantKeys {
            tag: tag.map(|key| key.value),
            reply_is_wrong: given && reply.is_none(),
            reply: reply.map(|key| key.value),
        }
    }
}

/// `#[urom(...)]` on a field: whether it is echoed, and where it travels.
pub(super) fn field_keys(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> (Option<Span>, Place) {
    let mut keys = Keys::take_helpers(attributes, errors);
    let echo = keys.flag("echo", errors);
    keys.planned();
    let header = keys.flag("header", errors);
    let codec = keys.value::<Path>("with", "with = module", errors);
    let inline = keys.flag("inline", errors);
    let unless = keys.value::<Ident>("unless", "unless = other_field", errors);
    let when = keys.value::<Expr>("when", "when = other_field == 0", errors);
    let len = keys.value::<Expr>("len", "len = other_field", errors);
    let addr = keys.value::<Ident>("addr", "addr = other_field", errors);
    keys.finish(errors);
    let payload = Inline { inline, unless, when, len, addr };
    let place = if payload.spans().next().is_some() {
        Place::Inline(Box::new(payload))
    } else if let Some(codec) = codec {
        Place::Codec(codec)
    } else if let Some(span) = header {
        Place::Header { span }
    } else {
        Place::Plain
    };
    (echo, place)
}
