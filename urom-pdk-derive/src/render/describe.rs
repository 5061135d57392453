//! The definition as a constant of `urom_abi::describe`.

use proc_macro2::{Literal, TokenStream};
use quote::quote;
use syn::spanned::Spanned;
use syn::visit::Visit;
use syn::{
    Expr, ExprCall, ExprLit, ExprPath, GenericArgument, Ident, Lit, Macro, PatIdent, Path, Type,
    parse_quote,
};

use super::Render;
use crate::described::{docs, imports, type_of};
use crate::model::{Address, Count, Field, Form, Given, Inline, Presence, Role, Variant};
use crate::tokens::Matches;
use crate::{names, tokens};

impl Render<'_> {
    /// The constant `__DESCRIPTION`. It is empty when the definition has an error.
    pub(super) fn description(&self) -> TokenStream {
        let imports = imports(&self.model.krate);
        let (name, docs) = (names::text(&self.model.ident), docs(&self.model.docs));
        let tag = self.tag_type();
        let known = if self.inert { &[] } else { self.model.variants.as_slice() };
        let header = known.first().map(|variant| {
            let fields = variant.header().enumerate();
            let fields = fields.flat_map(|(i, field)| {
                let at = i + 1;
                self.field_descriptions(variant, field, |_| quote!(__PARTS_AT[#at]))
            });
            quote!(#(#fields),*)
        });
        let variants = known.iter().map(|variant| self.variant_description(variant));
        let union_at = if self.inert { quote!(0) } else { quote!(__UNION_AT) };
        quote! {
            #imports
            const __DESCRIPTION: __describe::Messages = __describe::Messages {
                name: #name,
                docs: #docs,
                tag: <#tag as __describe::Described>::TYPE,
                len: __LEN,
                union_at: #union_at,
                header: &[#header],
                variants: &[#(#variants),*],
            };
        }
    }

    fn variant_description(&self, variant: &Variant) -> TokenStream {
        let (name, docs, tag) = (names::text(&variant.ident), docs(&variant.docs), variant.tag);
        let also = option(variant.also.as_ref().map(|also| also.value));
        let reply = variant.reply.as_ref().and_then(|reply| reply.segments.last());
        let reply = option(reply.map(|last| names::text(&last.ident)));
        let offsets = names::offsets_const(variant);
        let mut fields = Vec::new();
        for field in variant.body() {
            let before = fields.len();
            fields.extend(self.field_descriptions(variant, field, |i| {
                let at = before + i;
                quote!(#offsets[#at])
            }));
        }
        let payloads = variant.payloads().map(|payload| self.payload_description(variant, payload));
        quote! {
            __describe::Variant {
                name: #name,
                docs: #docs,
                tag: #tag,
                also: #also,
                reply: #reply,
                fields: &[#(#fields),*],
                payloads: &[#(#payloads),*],
            }
        }
    }

    /// What stands in the fixed part for a field: itself, or the words of a payload. `offset` places each of them.
    fn field_descriptions(
        &self,
        variant: &Variant,
        field: &Field,
        offset: impl Fn(usize) -> TokenStream,
    ) -> Vec<TokenStream> {
        let kind = quote!(__describe::FieldKind);
        let optional = self.model.is_command() && field.has_setter() && !field.is_payload();
        let describe = |i: usize, name: String, docs: TokenStream, kind: TokenStream, ty: &Type| {
            let (offset, ty) = (offset(i), type_of(ty));
            quote! {
                __describe::Field {
                    name: #name, docs: #docs, kind: #kind, ty: #ty, offset: #offset, optional: #optional
                }
            }
        };
        let (name, text) = (names::text(&field.ident), docs(&field.docs));
        let own = if field.echo.is_some() { quote!(#kind::Echo) } else { quote!(#kind::Plain) };
        match field.role() {
            Role::Plain => vec![describe(0, name, text, own, &field.ty)],
            Role::Codec(module) => {
                // On the module's span as everywhere, so that a missing type is one error.
                let wire = tokens::at(quote!(#module::Wire), module.span());
                vec![describe(0, name, text, own, &Type::Verbatim(wire))]
            }
            Role::Word => {
                let (use_of, of) = filled_by(variant, field);
                vec![describe(0, name, text, quote!(#kind::#use_of { of: #of }), &field.ty)]
            }
            Role::Payload(keys) => {
                let address = matches!(variant.address(keys), Address::Own)
                    .then(|| (address_name(field), quote!(#kind::Address { of: #name })));
                let length = matches!(variant.count(field, keys), Count::Own)
                    .then(|| (length_name(field), quote!(#kind::Length { of: #name })));
                let words = address.into_iter().chain(length).enumerate();
                let u64_type = parse_quote!(::core::primitive::u64);
                words
                    .map(|(i, (name, kind))| describe(i, name, quote!(""), kind, &u64_type))
                    .collect()
            }
        }
    }

    fn payload_description(&self, variant: &Variant, payload: &Field) -> TokenStream {
        let Role::Payload(keys) = payload.role() else { return TokenStream::new() };
        let (name, docs, shape) =
            (names::text(&payload.ident), docs(&payload.docs), payload.shape());
        let bytes = parse_quote!(::core::primitive::u8);
        let ty = match shape.form {
            Form::Str => quote!(__describe::Type::Utf8),
            _ => type_of(shape.element().unwrap_or(&bytes)),
        };
        let count = count(variant, payload, keys);
        let address = address(variant, payload, keys);
        let when = match variant.presence(payload, keys) {
            Presence::When(when) => Some(tokens::spelled(quote!(#when))),
            Presence::ByAddress => address.as_ref().map(|address| format!("{address} != 0")),
            Presence::Always | Presence::Unless(_) | Presence::Received => None,
        };
        let constants = constants(variant, payload, keys);
        let (address, when, registered) =
            (option(address), option(when), shape.form.is_two_armed());
        let optional = self.model.is_command() && payload.has_setter();
        quote! {
            __describe::Payload {
                name: #name,
                docs: #docs,
                ty: #ty,
                count: __describe::Count::#count,
                address: #address,
                when: #when,
                constants: &[#(#constants),*],
                registered: #registered,
                optional: #optional,
            }
        }
    }
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    match value {
        Some(value) => quote!(::core::option::Option::Some(#value)),
        None => quote!(::core::option::Option::None),
    }
}

/// The name of the address word at a payload's own place.
fn address_name(payload: &Field) -> String {
    format!("{}_addr", names::text(&payload.ident))
}

/// The name of the length word at a payload's own place.
fn length_name(payload: &Field) -> String {
    format!("{}_len", names::text(&payload.ident))
}

fn member(root: &Field, members: &[Ident]) -> String {
    let path = [&root.ident].into_iter().chain(members).map(names::text).collect::<Vec<_>>();
    path.join(".")
}

/// What a word is for, and the payload that fills it.
fn filled_by(variant: &Variant, word: &Field) -> (Ident, String) {
    let is_word = |field: &Field| field.ident == word.ident;
    let mut uses = variant.payloads().filter_map(|payload| {
        let Role::Payload(keys) = payload.role() else { return None };
        let use_of = match (
            variant.address(keys),
            variant.count(payload, keys),
            variant.presence(payload, keys),
        ) {
            (Address::Word(field), _, _) if is_word(field) => "Address",
            (_, Count::Word(field), _) if is_word(field) => "Length",
            (_, _, Presence::Unless(field)) if is_word(field) => "Selector",
            _ => return None,
        };
        Some((Ident::new(use_of, proc_macro2::Span::call_site()), names::text(&payload.ident)))
    });
    // Validation refused words that no payload fills.
    uses.next()
        .unwrap_or_else(|| (Ident::new("Length", proc_macro2::Span::call_site()), String::new()))
}

fn address(variant: &Variant, payload: &Field, keys: &Inline) -> Option<String> {
    match variant.address(keys) {
        Address::None => None,
        Address::Own => Some(address_name(payload)),
        Address::Word(word) => Some(names::text(&word.ident)),
        Address::Member(root, members) => Some(member(root, members)),
    }
}

/// A variant of `describe::Count`.
fn count(variant: &Variant, payload: &Field, keys: &Inline) -> TokenStream {
    match variant.count(payload, keys) {
        Count::Fixed => {
            let len = array_len(payload.shape().inner);
            quote!(Fixed(#len))
        }
        Count::Own => {
            let name = length_name(payload);
            quote!(Word(#name))
        }
        Count::Word(word) => {
            let name = names::text(&word.ident);
            quote!(Word(#name))
        }
        Count::Member(root, members) => {
            let path = member(root, members);
            quote!(Word(#path))
        }
        Count::Given(Given::Name(name)) => {
            let name = names::text(name);
            quote!(Given(#name))
        }
        Count::Given(Given::Expr(expr)) => match literal(expr) {
            Some(count) => quote!(Fixed(#count)),
            None => {
                let text = tokens::spelled(quote!(#expr));
                quote!(Given(#text))
            }
        },
    }
}

/// The constants in the expressions of a payload, in their order, each once.
fn constants(variant: &Variant, payload: &Field, keys: &Inline) -> Vec<TokenStream> {
    let mut found = Constants { variant, paths: Vec::new() };
    match variant.count(payload, keys) {
        Count::Given(Given::Expr(expr)) => found.visit_expr(expr),
        Count::Given(Given::Name(name)) => found.add(&name.clone().into(), quote!(#name)),
        Count::Fixed | Count::Own | Count::Word(_) | Count::Member(..) => {}
    }
    if let Presence::When(when) = variant.presence(payload, keys) {
        found.visit_expr(when);
    }
    let paths = found.paths.into_iter();
    paths
        .map(|(name, path)| {
            quote! {
                __describe::constant(#name, &#path, &|| {
                    use __describe::{IsAnything as _, IsNumber as _};
                    (&__describe::TypeOf::value(&#path)).reading()
                })
            }
        })
        .collect()
}

/// Finds paths that are named as constants are.
struct Constants<'a> {
    variant: &'a Variant,
    paths: Vec<(String, TokenStream)>,
}

impl Constants<'_> {
    fn add(&mut self, path: &Path, tokens: TokenStream) {
        let is_field = |name: &Ident| self.variant.fields.iter().any(|field| field.ident == *name);
        let is_constant =
            path.segments.last().is_some_and(|last| is_screaming(&names::text(&last.ident)))
                && !path.get_ident().is_some_and(is_field);
        let name = tokens::spelled(tokens.clone());
        if is_constant && self.paths.iter().all(|(known, _)| *known != name) {
            self.paths.push((name, tokens));
        }
    }
}

impl<'ast> Visit<'ast> for Constants<'_> {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        self.add(&path.path, quote!(#path));
    }

    fn visit_expr_call(&mut self, call: &'ast ExprCall) {
        // What is called is a function.
        call.args.iter().for_each(|argument| self.visit_expr(argument));
    }

    fn visit_pat_ident(&mut self, pattern: &'ast PatIdent) {
        let name = &pattern.ident;
        self.add(&name.clone().into(), quote!(#name));
    }

    fn visit_macro(&mut self, call: &'ast Macro) {
        // Validation refuses any other.
        let Some(Matches { expr, pat, guard }) = Matches::of(call) else { return };
        let mut within =
            Constants { variant: self.variant, paths: std::mem::take(&mut self.paths) };
        within.visit_expr(&expr);
        within.visit_pat(&pat);
        guard.iter().for_each(|guard| within.visit_expr(guard));
        self.paths = within.paths;
    }

    fn visit_type(&mut self, _: &'ast Type) {}

    fn visit_generic_argument(&mut self, _: &'ast GenericArgument) {}
}

/// Whether a name is that of a constant or a static: `KEY`, `MAX_2`.
fn is_screaming(name: &str) -> bool {
    name.contains(char::is_uppercase) && !name.contains(char::is_lowercase)
}

fn literal(expr: &Expr) -> Option<Literal> {
    let Expr::Lit(ExprLit { lit: Lit::Int(count), .. }) = expr else { return None };
    count.base10_parse::<usize>().ok().map(Literal::usize_unsuffixed)
}

/// `N` of `&'a [T; N]`.
fn array_len(ty: &Type) -> Option<&Expr> {
    match ty {
        Type::Reference(reference) => array_len(&reference.elem),
        Type::Group(group) => array_len(&group.elem),
        Type::Paren(paren) => array_len(&paren.elem),
        Type::Array(array) => Some(&array.len),
        _ => None,
    }
}
