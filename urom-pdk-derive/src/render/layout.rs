//! The fixed part: descriptions of fields and words, and constants that read and write them.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, Type};

use super::Render;
use crate::described::{docs, type_of};
use crate::model::{Field, Role, Variant};
use crate::{names, tokens, validate};

struct LayoutSlot {
    constant: Ident,
    ty: TokenStream,
    /// The span for errors, unless the type's spelling shows that it is valid.
    unsure: Option<Span>,
    docs: TokenStream,
    item: TokenStream,
}

impl Render<'_> {
    pub(super) fn tag_type(&self) -> TokenStream {
        let name = Ident::new(&self.model.tag.name(), Span::call_site());
        quote!(__p::#name)
    }

    pub(super) fn layout(&self) -> TokenStream {
        let krate = &self.model.krate;
        let imports = quote! {
            use #krate::__private as __p;
            use __p::{NotAnyBytes as _, NotDescribed as _};
        };
        if self.inert {
            return quote!(#imports const __LEN: __p::usize = 0;);
        }
        let (tag, header) = (self.tag_type(), self.header_len());
        let structures = self.model.variants.iter().map(|variant| {
            let (fields, slots) = (variant.constant("FIELDS"), self.slots(variant));
            let (count, items) = (slots.len(), slots.iter().map(|slot| &slot.item));
            let count = Literal::usize_unsuffixed(count);
            quote!(const #fields: [__p::Item; #count] = [#(#items),*];)
        });
        let members = self.model.variants.iter().map(|variant| variant.constant("FIELDS"));
        let accessors = self.model.variants.iter().map(|variant| self.accessors(variant));
        quote! {
            #imports
            type __At<T, const A: __p::usize, const N: __p::bool = true> = __p::At<T, A, __LEN, N>;
            #(#structures)*
            const __LAYOUT: __p::Layout =
                __p::layout(<#tag as __p::Described>::TYPE, #header, &[#(&#members),*]);
            const __LEN: __p::usize = __LAYOUT.len;
            const __TAG: __At<#tag, 0> = __p::field();
            #(#accessors)*
        }
    }

    fn header_len(&self) -> Literal {
        let first = self.model.variants.first().into_iter();
        Literal::usize_unsuffixed(first.flat_map(Variant::header).count())
    }

    /// Returns checks that reject messages that can never be sent. Must follow the description.
    pub(super) fn limits(&self) -> TokenStream {
        if self.inert {
            return TokenStream::new();
        }
        let header = match self.model.is_borrowed() {
            true => quote!(__p::COMMAND_HEADER),
            false => quote!(__p::NOTIFICATION_HEADER),
        };
        let whole = quote!(const _: () = __p::assert_fits(&__DESCRIPTION, #header););
        let whole = tokens::written_at(whole, self.model.ident.span());
        let payloads = self.model.variants.iter().flat_map(Variant::payloads);
        let elements = payloads.filter_map(|(field, _)| self.element_check(field));
        quote!(#whole #(#elements)*)
    }

    fn slots(&self, variant: &Variant) -> Vec<LayoutSlot> {
        variant.fields.iter().flat_map(|field| self.slots_of(variant, field)).collect()
    }

    fn slots_of(&self, variant: &Variant, field: &Field) -> Vec<LayoutSlot> {
        let (name, ty, constant, docs) =
            (field.name(), &field.ty, field.accessor(), docs(&field.docs));
        let kind = if field.is_echoed() { "echo" } else { "plain" };
        let optional =
            (self.model.is_borrowed() && field.has_setter()).then(|| quote!(.optional()));
        let item = |kind: &str, of: Option<String>, ty: &Type| {
            let (kind, of, ty) = (Ident::new(kind, Span::call_site()), of.into_iter(), type_of(ty));
            quote!(__p::#kind(#name, #(#of,)* #ty)#optional)
        };
        let unsure = (!validate::is_number(ty)).then(|| ty.span());
        match &field.role {
            Role::Plain => {
                let item = item(kind, None, ty);
                vec![LayoutSlot { constant, ty: quote!(#ty), unsure, docs, item }]
            }
            Role::Word => {
                let mut uses = variant.payloads().filter_map(|(payload, words)| {
                    Some(item(words.use_of(field.at)?, Some(payload.name()), ty))
                });
                let item = uses.next().unwrap_or_else(|| unreachable!("no payload fills `{name}`"));
                vec![LayoutSlot { constant, ty: quote!(#ty), unsure, docs, item }]
            }
            Role::Codec(module) => {
                // On the module's span as everywhere, so that a missing type is one error.
                let ty = tokens::at(quote!(#module::Wire), module.span());
                let item = item(kind, None, &Type::Verbatim(ty.clone()));
                vec![LayoutSlot { constant, ty, unsure: Some(module.span()), docs, item }]
            }
            Role::Payload(payload) => {
                let word = |own: &str| {
                    let (kind, short) = (Ident::new(own, Span::call_site()), word_name(own, field));
                    let item = quote!(__p::#kind(#short, #name, __p::WORD));
                    let (constant, ty) = (field.constant(own), quote!(__p::u64));
                    LayoutSlot { constant, ty, unsure: None, docs: quote!(""), item }
                };
                payload.own_words().map(word).collect()
            }
        }
    }

    pub(super) fn items(&self, variant: &Variant) -> [TokenStream; 2] {
        let (fields, of) = (variant.constant("FIELDS"), variant.constant("OF"));
        let docs = self.slots(variant).into_iter().map(|slot| slot.docs);
        let (all, header) = (quote!(&__p::placed(#fields, #of, [#(#docs),*])), self.header_len());
        match variant.header().next() {
            None => [quote!(&[]), all],
            Some(_) => [quote!(0), quote!(1)]
                .map(|at| quote!(<[_]>::split_at(const { #all }, #header).#at)),
        }
    }

    pub(super) fn described_type(&self, variant: &Variant, field: &Field) -> TokenStream {
        let before = variant.fields.iter().take_while(|other| other.at != field.at);
        let at = before.map(|field| self.slots_of(variant, field).len()).sum();
        let (fields, at) = (variant.constant("FIELDS"), Literal::usize_unsuffixed(at));
        quote!(const { &#fields[#at].ty })
    }

    fn accessors(&self, variant: &Variant) -> TokenStream {
        let (fields, of) = (variant.constant("FIELDS"), variant.constant("OF"));
        let slots = self.slots(variant);
        let count = Literal::usize_unsuffixed(slots.len());
        let accessors =
            slots.iter().enumerate().map(|(at, LayoutSlot { constant, ty, unsure, .. })| {
                let at = Literal::usize_unsuffixed(at);
                let Some(span) = unsure else {
                    return quote!(const #constant: __At<#ty, { #of[#at] }> = __p::field(););
                };
                let any = quote!({ <__p::AnyBytes<#ty>>::ANY });
                // On the type's span, so that an invalid type is underlined itself.
                let new = quote_spanned!(*span=> __p::any_field());
                quote!(const #constant: __At<#ty, { #of[#at] }, #any> = #new;)
            });
        quote! {
            const #of: [__p::usize; #count] = __p::offsets(&__LAYOUT, &#fields);
            #(#accessors)*
        }
    }

    pub(super) fn zero(&self, field: &Field) -> TokenStream {
        let accessor = field.accessor();
        tokens::written_at(quote!(#accessor.zero()), field.ty.span())
    }

    fn element_check(&self, payload: &Field) -> Option<TokenStream> {
        let element = payload.shape.element.as_ref()?;
        let ty = self.with_lifetime(element, &Lifetime::new("'static", Span::call_site()));
        let (name, span) = (names::written(element), element.span());
        Some(quote_spanned!(span=> const _: () = __p::assert_element::<#ty>(#name);))
    }
}

pub(super) fn word_name(own: &str, payload: &Field) -> String {
    format!("{}_{}", payload.name(), if own == "length" { "len" } else { "addr" })
}
