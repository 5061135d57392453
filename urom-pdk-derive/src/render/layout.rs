//! What stands in the fixed part: a description of each field and word, and a constant that reads
//! and writes it.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Lifetime, Type};

use super::Render;
use crate::described::{docs, type_of};
use crate::model::{Count, Field, Kind, Payload, Presence, Role, Variant, Word};
use crate::{names, tokens, validate};

/// A run of bytes of the fixed part: a field or a word.
struct Slot {
    /// The constant that reads and writes it.
    constant: Ident,
    ty: SlotType,
    docs: TokenStream,
    /// What describes it, but for its place and its documentation.
    item: TokenStream,
}

enum SlotType {
    /// An address or a length at a payload's own place.
    Word,
    /// A type of which the spelling tells that any bytes are a value.
    Number(TokenStream),
    /// Another one, and what to underline when it cannot travel.
    Other(TokenStream, Span),
}

impl Render<'_> {
    /// The tag's type.
    pub(super) fn tag_type(&self) -> TokenStream {
        let name = Ident::new(self.model.tag.name(), Span::call_site());
        quote!(__p::#name)
    }

    /// The constants: the description of each field, the length of the fixed part, and each field's
    /// place.
    pub(super) fn layout(&self) -> TokenStream {
        let krate = &self.model.krate;
        let imports = quote! {
            use #krate::__private as __p;
            use __p::{NotAnyBytes as _, NotDescribed as _};
        };
        if self.inert {
            return quote!(#imports const __LEN: __p::usize = 0;);
        }
        let tag = self.tag_type();
        let header = self.model.header().flat_map(|field| self.slots_of_header(field));
        let header = header.collect::<Vec<_>>();
        let (header, header_at) = match header.is_empty() {
            true => (quote!(&[]), TokenStream::new()),
            false => (quote!(&__HEADER), header_consts(&tag, &header)),
        };
        let structures = self.model.variants.iter().map(|variant| {
            let (fields, slots) = (names::fields_const(variant), self.slots(variant));
            let (count, items) = (slots.len(), slots.iter().map(|slot| &slot.item));
            let count = Literal::usize_unsuffixed(count);
            quote!(const #fields: [__p::Item; #count] = [#(#items),*];)
        });
        let members = self.model.variants.iter().map(names::fields_const);
        let places = self.model.variants.iter().map(|variant| self.places(variant));
        quote! {
            #imports
            type __At<T, const A: __p::usize, const N: __p::bool = true> = __p::At<T, A, __LEN, N>;
            type __Word<const A: __p::usize> = __At<__p::u64, A>;
            #header_at
            #(#structures)*
            const __LAYOUT: __p::Layout =
                __p::layout(<#tag as __p::Described>::TYPE, #header, &[#(&#members),*]);
            const __UNION: __p::usize = __LAYOUT.union_at;
            const __LEN: __p::usize = __LAYOUT.len;
            const __TAG: __At<#tag, 0> = __p::field();
            #(#places)*
        }
    }

    /// What can never be sent does not compile. Stands behind the description.
    pub(super) fn limits(&self) -> TokenStream {
        if self.inert {
            return TokenStream::new();
        }
        let header = match self.model.kind {
            Kind::Command(_) => quote!(__p::COMMAND_HEADER),
            Kind::Notification => quote!(__p::NOTIFICATION_HEADER),
        };
        let assert = |span: Span, call: TokenStream| tokens::written_at(call, span);
        let whole = quote!(const _: () = __p::assert_fits(&__DESCRIPTION, #header););
        let whole = assert(self.model.ident.span(), whole);
        let is_long = |variant: &Variant| variant.resolved().any(|(_, payload)| is_fixed(payload));
        let variants = self.model.variants.iter().enumerate().filter(|(_, known)| is_long(known));
        let variants = variants.map(|(at, variant)| {
            let check =
                quote!(const _: () = __p::assert_variant_fits(&__DESCRIPTION, #at, #header););
            assert(variant.ident.span(), check)
        });
        let payloads = self.model.variants.iter().flat_map(Variant::payloads);
        let elements = payloads.filter_map(|payload| self.element_check(payload));
        quote!(#whole #(#variants)* #(#elements)*)
    }

    /// What stands in the variant's own structure, in order.
    fn slots(&self, variant: &Variant) -> Vec<Slot> {
        variant.body().flat_map(|field| self.slots_of(variant, field)).collect()
    }

    fn slots_of_header(&self, field: &Field) -> Vec<Slot> {
        self.model.variants.first().map(|first| self.slots_of(first, field)).unwrap_or_default()
    }

    /// What stands in the fixed part for a field: the field itself, or the words of a payload.
    fn slots_of(&self, variant: &Variant, field: &Field) -> Vec<Slot> {
        let (name, text, ty) = (names::text(&field.ident), docs(&field.docs), &field.ty);
        let constant = names::field_const(variant, field);
        let own = if field.echo.is_some() { "echo" } else { "plain" };
        let optional = (self.model.is_command() && field.has_setter()).then(|| quote!(.optional()));
        let item = |kind: &str, of: Option<String>, ty: &Type| {
            let (kind, of, ty) = (Ident::new(kind, Span::call_site()), of.into_iter(), type_of(ty));
            quote!(__p::#kind(#name, #(#of,)* #ty)#optional)
        };
        let of_type = || match validate::is_number(ty) {
            true => SlotType::Number(quote!(#ty)),
            false => SlotType::Other(quote!(#ty), ty.span()),
        };
        match field.role() {
            Role::Plain => {
                vec![Slot { constant, ty: of_type(), docs: text, item: item(own, None, ty) }]
            }
            Role::Word => {
                let (kind, of) = super::describe::filled_by(variant, field);
                let item = item(kind, Some(of), ty);
                vec![Slot { constant, ty: of_type(), docs: text, item }]
            }
            Role::Codec(module) => {
                // On the module's span as everywhere, so that a missing type is one error.
                let wire = tokens::at(quote!(#module::Wire), module.span());
                let item = item(own, None, &Type::Verbatim(wire.clone()));
                vec![Slot { constant, ty: SlotType::Other(wire, module.span()), docs: text, item }]
            }
            Role::Payload => {
                let Some(payload) = &field.payload else { return Vec::new() };
                let word = |constant, kind: &str, word: String| {
                    let kind = Ident::new(kind, Span::call_site());
                    let item = quote!(__p::#kind(#word, #name, __p::WORD));
                    Slot { constant, ty: SlotType::Word, docs: quote!(""), item }
                };
                let address = (payload.address == Some(Word::Own)).then(|| {
                    word(names::address_const(variant, field), "address", names::address(field))
                });
                let length = (payload.length() == Some(&Word::Own)).then(|| {
                    word(names::length_const(variant, field), "length", names::length(field))
                });
                address.into_iter().chain(length).collect()
            }
        }
    }

    /// The described fields between tag and union.
    pub(super) fn header_items(&self) -> TokenStream {
        let slots = self.model.header().flat_map(|field| self.slots_of_header(field));
        let docs = slots.map(|slot| slot.docs).collect::<Vec<_>>();
        if docs.is_empty() {
            quote!(&[])
        } else {
            quote!(&__p::placed(__HEADER, __OF, [#(#docs),*]))
        }
    }

    /// The described fields of the variant's own structure.
    pub(super) fn items(&self, variant: &Variant) -> TokenStream {
        let (fields, of) = (names::fields_const(variant), names::offsets_const(variant));
        let docs = self.slots(variant).into_iter().map(|slot| slot.docs);
        quote!(&__p::placed(#fields, #of, [#(#docs),*]))
    }

    /// The description of a field's type, as a reference.
    pub(super) fn described_type(&self, variant: &Variant, field: &Field) -> TokenStream {
        let is_it = |other: &&Field| other.ident == field.ident;
        if let Some(at) = variant.header().position(|other| is_it(&other)) {
            let at = Literal::usize_unsuffixed(at);
            return quote!(const { &__HEADER[#at].ty });
        }
        let before = variant.body().take_while(|other| !is_it(other));
        let at = before.map(|field| self.slots_of(variant, field).len()).sum();
        let (fields, at) = (names::fields_const(variant), Literal::usize_unsuffixed(at));
        quote!(const { &#fields[#at].ty })
    }

    /// The constants that read and write the variant's fields.
    fn places(&self, variant: &Variant) -> TokenStream {
        let place = |of: &Ident, at: usize, slot: &Slot| {
            let (constant, at) = (&slot.constant, Literal::usize_unsuffixed(at));
            match &slot.ty {
                SlotType::Word => quote!(const #constant: __Word<{ #of[#at] }> = __p::field();),
                SlotType::Number(ty) => {
                    quote!(const #constant: __At<#ty, { #of[#at] }> = __p::field();)
                }
                SlotType::Other(ty, span) => {
                    let any = quote!({ <__p::AnyBytes<#ty>>::ANY });
                    // On the type's span, so that a type that is no plain data is underlined
                    // itself.
                    let new = quote_spanned!(*span=> __p::any_field());
                    quote!(const #constant: __At<#ty, { #of[#at] }, #any> = #new;)
                }
            }
        };
        let zeros = variant.values().filter_map(|field| self.zero_const(variant, field));
        let of_header = Ident::new("__OF", Span::call_site());
        let header = variant.header().flat_map(|field| self.slots_of(variant, field));
        let header = header.enumerate().map(|(at, slot)| place(&of_header, at, &slot));
        let (fields, of) = (names::fields_const(variant), names::offsets_const(variant));
        let slots = self.slots(variant);
        let count = Literal::usize_unsuffixed(slots.len());
        let body = slots.iter().enumerate().map(|(at, slot)| place(&of, at, slot));
        quote! {
            #(#zeros)*
            #(#header)*
            const #of: [__p::usize; #count] = __p::offsets(__UNION, &#fields);
            #(#body)*
        }
    }

    /// The function that gives a field its value where nobody sets it, for types of which not any
    /// bytes are a value.
    fn zero_const(&self, variant: &Variant, field: &Field) -> Option<TokenStream> {
        let is_zero = field.has_setter() || !self.model.is_command() && field.echo.is_some();
        if !is_zero || !field.is_plain() || validate::is_number(&field.ty) {
            return None;
        }
        let (constant, ty) = (names::zero_const(variant, field), &field.ty);
        let any = quote!({ <__p::AnyBytes<#ty>>::ANY });
        let zero = quote_spanned!(ty.span()=> <#ty as __p::Zero<#any>>::zero);
        Some(quote!(const #constant: fn() -> #ty = #zero;))
    }

    /// An expression for the value of a field that nobody sets.
    pub(super) fn zero(&self, variant: &Variant, field: &Field) -> TokenStream {
        if validate::is_number(&field.ty) {
            let constant = names::field_const(variant, field);
            return quote!(#constant.zero());
        }
        let constant = names::zero_const(variant, field);
        quote!(#constant())
    }

    /// An expression for the value of an echoed field in bytes that may be too few or wrong.
    pub(super) fn read_or_zero(
        &self,
        variant: &Variant,
        field: &Field,
        bytes: &Ident,
    ) -> TokenStream {
        let constant = names::field_const(variant, field);
        if validate::is_number(&field.ty) {
            return quote!(#constant.read_or_zero(#bytes));
        }
        let zero = names::zero_const(variant, field);
        quote!(#constant.read_or(#bytes, #zero))
    }

    /// A payload whose elements are no plain data, or have no bytes, does not compile.
    fn element_check(&self, payload: &Field) -> Option<TokenStream> {
        let element = payload.shape().element()?;
        let ty = self.with_lifetime(element, &Lifetime::new("'static", Span::call_site()));
        let (name, span) = (names::written(element), element.span());
        Some(quote_spanned!(span=> const _: () = __p::assert_element::<#ty>(#name);))
    }
}

/// The constants of what lies between tag and union.
fn header_consts(tag: &TokenStream, header: &[Slot]) -> TokenStream {
    let (count, items) = (Literal::usize_unsuffixed(header.len()), header.iter());
    let items = items.map(|slot| &slot.item);
    quote! {
        const __HEADER: [__p::Item; #count] = [#(#items),*];
        const __OF: [__p::usize; #count] = __p::offsets(::core::mem::size_of::<#tag>(), &__HEADER);
    }
}

/// Whether a payload is always there and always has the same length.
fn is_fixed(payload: &Payload) -> bool {
    let is_counted = matches!(payload.count, Count::Fixed) || payload.literal().is_some();
    is_counted && matches!(payload.presence, Presence::Always)
}
