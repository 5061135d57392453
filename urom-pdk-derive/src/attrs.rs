//! The keys of an attribute: `name`, `name = value`. A reader takes those it knows, one call each;
//! [`Keys::finish`] reports what is left.

use proc_macro2::{Ident, Span, TokenStream, TokenTree};
use syn::parse::Parse;
use syn::{Attribute, Expr, Meta};

use crate::diagnostics::{Errors, messages};
use crate::model::Spanned;

/// The keys of one item, from all its attributes together.
#[derive(Default)]
pub(crate) struct Keys {
    given: Vec<Key>,
    known: Vec<&'static str>,
}

struct Key {
    name: String,
    span: Span,
    value: Option<TokenStream>,
}

impl Keys {
    pub(crate) fn parse(tokens: TokenStream, errors: &mut Errors) -> Keys {
        let mut keys = Keys::default();
        keys.extend(tokens, errors);
        keys
    }

    /// The keys of all `#[urom(...)]` in `attributes`, which are removed.
    pub(crate) fn take_helpers(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> Keys {
        let mut keys = Keys::default();
        for helper in attributes.extract_if(.., |attribute| attribute.path().is_ident("urom")) {
            match helper.meta {
                Meta::List(list) if !list.tokens.is_empty() => keys.extend(list.tokens, errors),
                other => errors.on(other, messages::attribute_without_keys()),
            }
        }
        keys
    }

    fn extend(&mut self, tokens: TokenStream, errors: &mut Errors) {
        for part in split_at_commas(tokens) {
            let mut part = part.into_iter().peekable();
            let key = match (part.next(), part.peek()) {
                (None, _) => continue,
                (Some(TokenTree::Ident(name)), None) => Key::new(name, None),
                (Some(TokenTree::Ident(name)), Some(TokenTree::Punct(sign)))
                    if sign.as_char() == '=' =>
                {
                    Key::new(name, Some(part.skip(1).collect()))
                }
                (Some(first), _) => {
                    let whole = std::iter::once(first).chain(part).collect::<TokenStream>();
                    errors.on(whole, messages::not_a_key());
                    continue;
                }
            };
            if self.given.iter().any(|other| other.name == key.name) {
                errors.at(key.span, messages::duplicate_key(&key.name));
            } else {
                self.given.push(key);
            }
        }
    }

    fn take(&mut self, name: &'static str) -> Option<Key> {
        self.known.push(name);
        let at = self.given.iter().position(|key| key.name == name)?;
        Some(self.given.swap_remove(at))
    }

    /// A key without a value: where it stands, when it is there.
    pub(crate) fn flag(&mut self, name: &'static str, errors: &mut Errors) -> Option<Span> {
        let key = self.take(name)?;
        if let Some(value) = key.value {
            errors.on(value, messages::flag_with_value(name));
        }
        Some(key.span)
    }

    /// A key whose value `read` understands. `example` shows how to write it.
    pub(crate) fn value_with<T>(
        &mut self,
        name: &'static str,
        example: &str,
        errors: &mut Errors,
        read: impl FnOnce(TokenStream) -> Option<T>,
    ) -> Option<Spanned<T>> {
        let key = self.take(name)?;
        let tokens = match key.value {
            Some(tokens) if !tokens.is_empty() => tokens,
            _ => {
                errors.at(key.span, messages::key_without_value(name, example));
                return None;
            }
        };
        match read(tokens.clone()) {
            Some(value) => Some(Spanned { value, span: key.span }),
            None => {
                errors.on(tokens, messages::bad_value(name, example));
                None
            }
        }
    }

    pub(crate) fn value<T: Parse>(
        &mut self,
        name: &'static str,
        example: &str,
        errors: &mut Errors,
    ) -> Option<Spanned<T>> {
        self.value_with(name, example, errors, |tokens| syn::parse2(tokens).ok())
    }

    /// A key that has its place elsewhere.
    pub(crate) fn refuse(&mut self, name: &str, place: &str, errors: &mut Errors) {
        if let Some(at) = self.given.iter().position(|key| key.name == name) {
            let key = self.given.swap_remove(at);
            errors.at(key.span, messages::misplaced_key(name, place));
        }
    }

    /// Whether a key is there that nobody has taken yet.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.given.iter().any(|key| key.name == name)
    }

    pub(crate) fn finish(self, errors: &mut Errors) {
        let mut expected = self.known;
        expected.sort_unstable();
        let all = expected.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        for key in self.given {
            let message = match alike(&key.name, &expected) {
                Some(meant) => messages::mistyped_key(&key.name, meant, &all),
                None => messages::unknown_key(&key.name, &all),
            };
            errors.at(key.span, message);
        }
    }
}

/// The key that was meant by a name that is none.
fn alike<'a>(name: &str, known: &[&'a str]) -> Option<&'a str> {
    /// How alike two names are before one is taken for a slip of the other, as in `cargo urom`.
    const ALIKE: f64 = 0.75;
    let score = |other: &&str| strsim::jaro_winkler(name, other);
    // Two letters that were exchanged in a short name are a slip too.
    let is_slip = |other: &&&str| score(other) > ALIKE || strsim::osa_distance(name, other) <= 1;
    known.iter().filter(is_slip).max_by(|a, b| score(a).total_cmp(&score(b))).copied()
}

impl Key {
    fn new(name: Ident, value: Option<TokenStream>) -> Key {
        Key { name: name.to_string(), span: name.span(), value }
    }
}

/// What stands between the commas of a list. A comma within a value belongs to it:
/// `len = f::<A, B>(x)`.
fn split_at_commas(tokens: TokenStream) -> Vec<TokenStream> {
    let tokens = tokens.into_iter().collect::<Vec<_>>();
    let is_comma =
        |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',');
    let mut parts = Vec::new();
    let mut start = 0;
    while start <= tokens.len() {
        let ends = (start..=tokens.len()).filter(|at| tokens.get(*at).is_none_or(is_comma));
        let mut ends = ends.collect::<Vec<_>>().into_iter();
        let first = ends.next().unwrap_or(tokens.len());
        let end = match &tokens[start..first] {
            [TokenTree::Ident(_), TokenTree::Punct(sign), value @ ..]
                if sign.as_char() == '=' && !value.is_empty() && !is_expression(value) =>
            {
                ends.find(|end| is_expression(&tokens[start + 2..*end])).unwrap_or(first)
            }
            _ => first,
        };
        parts.push(tokens[start..end].iter().cloned().collect());
        start = end + 1;
    }
    parts
}

fn is_expression(tokens: &[TokenTree]) -> bool {
    syn::parse2::<Expr>(tokens.iter().cloned().collect()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use quote::quote;

    fn errors_of(read: impl FnOnce(&mut Errors)) -> String {
        let mut errors = Errors::new();
        read(&mut errors);
        errors.into_compile_errors().map(|tokens| tokens.to_string()).unwrap_or_default()
    }

    #[test]
    fn keys_are_taken_once_and_by_name() {
        let found = errors_of(|errors| {
            let mut keys = Keys::parse(quote!(echo, tag = 7, crate = a::b,), errors);
            assert!(keys.flag("echo", errors).is_some());
            assert!(keys.flag("echo", errors).is_none());
            let tag = keys.value::<syn::LitInt>("tag", "tag = 1", errors);
            assert_eq!(tag.map(|tag| tag.value.to_string()).as_deref(), Some("7"));
            assert!(keys.value::<syn::Path>("crate", "crate = c", errors).is_some());
            keys.finish(errors);
        });
        assert_eq!(found, "");
    }

    #[test]
    fn what_is_left_is_reported_with_what_was_expected() {
        let found = errors_of(|errors| {
            let mut keys = Keys::parse(quote!(ecko, tga = 1), errors);
            keys.value::<syn::LitInt>("tag", "tag = 1", errors);
            keys.flag("echo", errors);
            keys.finish(errors);
        });
        assert!(
            found.contains("unknown key `ecko`: did you mean `echo`? There is `echo`, `tag`"),
            "{found}"
        );
        assert!(
            found.contains("unknown key `tga`: did you mean `tag`? There is `echo`, `tag`"),
            "{found}"
        );
        assert_eq!(alike("size", &["echo", "tag"]), None);
        assert_eq!(alike("replies", &["reply", "tag"]), Some("reply"));
    }

    #[test]
    fn commas_within_a_value_belong_to_it() {
        let value = quote!(f::<A, B>(x, y));
        for tokens in [
            quote!(inline, len = #value, addr = none),
            quote!(len = #value),
            quote!(len = #value, inline,),
        ] {
            let found = errors_of(|errors| {
                let mut keys = Keys::parse(tokens, errors);
                let len = keys.value::<Expr>("len", "len = other_field", errors);
                assert_eq!(
                    len.map(|len| quote::ToTokens::to_token_stream(&len.value).to_string()),
                    Some(value.to_string())
                );
                _ = (
                    keys.flag("inline", errors),
                    keys.value::<syn::Path>("addr", "addr = a", errors),
                );
                keys.finish(errors);
            });
            assert_eq!(found, "");
        }
        // What is no expression ends at its comma.
        let parts = split_at_commas(quote!(len = a::<B, echo, tag = <C as D<E, F>>::G, x));
        let parts = parts.iter().map(TokenStream::to_string).collect::<Vec<_>>();
        assert_eq!(parts, ["len = a :: < B", "echo", "tag = < C as D < E , F >> :: G", "x"]);
    }

    #[test]
    fn a_wrong_value_is_one_error() {
        for wrong in
            [quote!(tag), quote!(tag =), quote!(tag = "one"), quote!(tag(1)), quote!(tag = 1 = 2)]
        {
            let found = errors_of(|errors| {
                let mut keys = Keys::parse(wrong.clone(), errors);
                assert!(keys.value::<syn::LitInt>("tag", "tag = 1", errors).is_none());
                keys.finish(errors);
            });
            assert_eq!(found.matches("compile_error").count(), 1, "{wrong}: {found}");
        }
    }

    #[test]
    fn helpers_are_removed_and_other_attributes_stay() {
        let found = errors_of(|errors| {
            let mut field: syn::Variant = syn::parse_quote!(
                #[doc = "x"]
                #[urom(a)]
                #[urom(b)]
                V
            );
            let mut keys = Keys::take_helpers(&mut field.attrs, errors);
            assert_eq!(field.attrs.len(), 1);
            assert!(keys.has("a"));
            assert!(keys.flag("a", errors).is_some() && keys.flag("b", errors).is_some());
            keys.finish(errors);
        });
        assert_eq!(found, "");
    }
}
