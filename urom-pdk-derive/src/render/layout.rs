//! Where every field and every word lies, as constants, and what is too big to be sent.

use proc_macro2::{Ident, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::{Expr, ExprLit, Lit, Type};

use super::Render;
use crate::diagnostics::messages;
use crate::model::{Address, Count, Field, Given, Kind, Presence, Role, Variant};
use crate::{names, tokens, validate};

/// A run of bytes of the fixed part: a field or a word.
pub(super) struct Slot {
    /// The constant that places it.
    pub(super) constant: Ident,
    pub(super) ty: TokenStream,
    /// What to underline when the type cannot travel.
    pub(super) span: Span,
    /// Whether the spelling tells that any bytes are a value.
    pub(super) is_number: bool,
}

impl Render<'_> {
    /// The tag's type.
    pub(super) fn tag_type(&self) -> TokenStream {
        let name = Ident::new(self.model.tag.name(), Span::call_site());
        quote!(::core::primitive::#name)
    }

    /// The path of `urom_abi::wire`.
    pub(super) fn wire(&self) -> TokenStream {
        let krate = &self.model.krate;
        quote!(#krate::wire)
    }

    /// The constants: the length of the fixed part, the tag, and each field's place.
    pub(super) fn layout(&self) -> TokenStream {
        if self.inert {
            return quote!(
                const __LEN: ::core::primitive::usize = 0;
            );
        }
        let wire = self.wire();
        let tag = self.tag_type();
        let header = self.model.header().map(|field| &field.ty);
        let parts = self.model.header().count() + 2;
        let variants = self.model.variants.iter().map(|variant| self.variant_layout(variant));
        let members = self.model.variants.iter().map(|variant| {
            let extents = names::extents_const(variant);
            if variant.body().next().is_none() { quote!(&[]) } else { quote!(&#extents) }
        });
        let known = self.model.variants.iter().map(|variant| {
            let (name, tag) = (names::text(&variant.ident), variant.tag);
            quote!((#name, #tag))
        });
        let limit = self.limit();
        let limits = self.model.variants.iter().map(|variant| self.variant_limit(variant));
        let payloads = self.model.variants.iter().flat_map(|variant| variant.payloads());
        let elements = payloads.filter_map(|payload| self.element_check(payload));
        quote! {
            use #wire::NotAnyBytes as _;
            use #wire::layout as __layout;
            const __TAG: #wire::Field<#tag, 0, __LEN> = #wire::field::<#tag, 0, __LEN>();
            const __UNION: __layout::Extent = __layout::union(&[#(__layout::structure(#members)),*]);
            const __PARTS: [__layout::Extent; #parts] =
                [__layout::Extent::of::<#tag>(), #(__layout::Extent::of::<#header>(),)* __UNION];
            const __PARTS_AT: [::core::primitive::usize; #parts] = __layout::offsets(0, __PARTS);
            const __UNION_AT: ::core::primitive::usize = __PARTS_AT[#parts - 1];
            const __LEN: ::core::primitive::usize = __layout::structure(&__PARTS).size;
            const __KNOWN: &[(&::core::primitive::str, ::core::primitive::u64)] = &[#(#known),*];
            #(#variants)*
            #limit
            #(#limits)*
            #(#elements)*
        }
    }

    /// What stands in the variant's own structure for a field: the field itself, or the words of a payload.
    pub(super) fn slots(&self, variant: &Variant, field: &Field) -> Vec<Slot> {
        let span = syn::spanned::Spanned::span(&field.ty);
        let ty = &field.ty;
        let constant = names::field_const(variant, field);
        let placed = |ty| Slot {
            constant: constant.clone(),
            ty,
            span,
            is_number: validate::is_number(&field.ty),
        };
        match field.role() {
            Role::Plain | Role::Word => vec![placed(quote!(#ty))],
            Role::Codec(module) => {
                let span = syn::spanned::Spanned::span(module);
                let ty = tokens::at(quote!(#module::Wire), span);
                vec![Slot { constant, ty, span, is_number: false }]
            }
            Role::Payload(keys) => {
                let (ty, span) = (quote!(::core::primitive::u64), Span::call_site());
                let word = |constant| Slot { constant, ty: ty.clone(), span, is_number: true };
                let address = matches!(variant.address(keys), Address::Own)
                    .then(|| word(names::address_const(variant, field)));
                let length = matches!(variant.count(field, keys), Count::Own)
                    .then(|| word(names::length_const(variant, field)));
                address.into_iter().chain(length).collect()
            }
        }
    }

    /// Whether any bytes are a value of a type, as an argument.
    fn any_bytes(&self, ty: &TokenStream) -> TokenStream {
        let wire = self.wire();
        quote!({ <#wire::AnyBytes<#ty>>::ANY })
    }

    /// The function that gives a field its value where nobody sets it, for types of which not any bytes are a value.
    fn zero_const(&self, variant: &Variant, field: &Field) -> Option<TokenStream> {
        let is_zero = field.has_setter() || !self.model.is_command() && field.echo.is_some();
        if !is_zero || !field.is_plain() || validate::is_number(&field.ty) {
            return None;
        }
        let (wire, constant, ty) = (self.wire(), names::zero_const(variant, field), &field.ty);
        let any = self.any_bytes(&quote!(#ty));
        let zero =
            quote_spanned!(syn::spanned::Spanned::span(ty)=> <#ty as #wire::Zero<#any>>::zero);
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

    fn variant_layout(&self, variant: &Variant) -> TokenStream {
        let wire = self.wire();
        let place = |slot: &Slot, at: TokenStream| {
            let Slot { constant, ty, span, is_number } = slot;
            if *is_number {
                return quote!(const #constant: #wire::Field<#ty, #at, __LEN> = #wire::field::<#ty, #at, __LEN>(););
            }
            let any = self.any_bytes(ty);
            // On the type's span, so that a type that is no plain data is underlined itself.
            let new = quote_spanned!(*span=> #wire::any_field::<#ty, #at, __LEN, #any>());
            quote!(const #constant: #wire::Field<#ty, #at, __LEN, #any> = #new;)
        };
        let zeros = variant.values().filter_map(|field| self.zero_const(variant, field));
        let header = variant.header().enumerate().map(|(i, field)| {
            let slots = self.slots(variant, field);
            let at = i + 1;
            slots
                .iter()
                .map(|slot| place(slot, quote!({ __PARTS_AT[#at] })))
                .collect::<TokenStream>()
        });
        let header = zeros.chain(header).collect::<TokenStream>();
        let body = variant.body().flat_map(|field| self.slots(variant, field)).collect::<Vec<_>>();
        if variant.body().next().is_none() {
            return header;
        }
        let extents = names::extents_const(variant);
        let offsets = names::offsets_const(variant);
        let count = body.len();
        let types = body.iter().map(|slot| &slot.ty);
        let fields = body.iter().enumerate().map(|(i, slot)| place(slot, quote!({ #offsets[#i] })));
        quote! {
            #header
            const #extents: [__layout::Extent; #count] = [#(__layout::Extent::of::<#types>()),*];
            const #offsets: [::core::primitive::usize; #count] = __layout::offsets(__UNION_AT, #extents);
            #(#fields)*
        }
    }

    /// The size of the header in front of a message, and how many bytes both may have.
    fn sizes(&self) -> (TokenStream, TokenStream) {
        let krate = &self.model.krate;
        let header = match self.model.kind {
            Kind::Command(_) => quote!(WorkerCmd),
            Kind::Notification => quote!(WorkerNotify),
        };
        (
            quote!(::core::mem::size_of::<#krate::plugin::#header>()),
            quote!(#krate::DEFAULT_MAX_MESSAGE),
        )
    }

    /// A message that can never be sent does not compile.
    fn limit(&self) -> TokenStream {
        let (wire, ident, (header, most)) = (self.wire(), &self.model.ident, self.sizes());
        let advice = messages::too_big().to_string();
        let variants = self.model.variants.iter().map(|variant| {
            let (name, extents) = (names::text(&variant.ident), names::extents_const(variant));
            match variant.body().next() {
                None => quote!((#name, 0)),
                Some(_) => quote!((#name, __layout::structure(&#extents).size)),
            }
        });
        quote_spanned!(ident.span()=>
            const _: () = ::core::assert!(
                __LEN <= #most - #header,
                "{}",
                #wire::too_big(&[#(#variants),*], __LEN, #header, #advice).as_str(),
            );
        )
    }

    /// Neither does a variant whose payloads of known length make it too big.
    fn variant_limit(&self, variant: &Variant) -> TokenStream {
        let fixed = variant
            .payloads()
            .filter_map(|field| self.fixed_size(variant, field))
            .collect::<Vec<_>>();
        if fixed.is_empty() {
            return TokenStream::new();
        }
        let (wire, name, (header, most)) = (self.wire(), names::text(&variant.ident), self.sizes());
        let advice = messages::variant_too_big().to_string();
        quote_spanned!(variant.ident.span()=>
            // That the fixed part alone fits is asserted above, with another message.
            const _: () = ::core::assert!(
                __LEN > #most - #header || #wire::known_len(__LEN, &[#(#fixed),*]) <= #most - #header,
                "{}",
                #wire::variant_too_big(
                    #name,
                    #wire::known_len(__LEN, &[#(#fixed),*]),
                    #header,
                    #advice,
                )
                .as_str(),
            );
        )
    }

    /// A payload whose elements are no plain data, or have no bytes, does not compile.
    fn element_check(&self, payload: &Field) -> Option<TokenStream> {
        let wire = self.wire();
        let shape = payload.shape();
        let element = shape.element()?;
        let ty = self.without_lifetime(element);
        let text = messages::element_without_bytes(names::written(element)).to_string();
        let span = syn::spanned::Spanned::span(element);
        Some(
            quote_spanned!(span=> const _: () = ::core::assert!(#wire::element::<#ty>() > 0, #text);),
        )
    }

    /// The size of a payload that is always there and whose length is known.
    fn fixed_size(&self, variant: &Variant, field: &Field) -> Option<TokenStream> {
        let Role::Payload(keys) = field.role() else { return None };
        let Presence::Always = variant.presence(field, keys) else { return None };
        let wire = self.wire();
        let ty = self.without_lifetime(&field.ty);
        match variant.count(field, keys) {
            Count::Fixed => Some(quote!(#wire::fixed_size::<#ty>())),
            Count::Given(Given::Expr(Expr::Lit(ExprLit { lit: Lit::Int(count), .. }))) => {
                let count = count.base10_parse::<usize>().ok()?;
                Some(quote!(#wire::size_of_elements::<#ty>(#count)))
            }
            _ => None,
        }
    }

    /// The type with `'static` in place of the enum's lifetime.
    pub(super) fn without_lifetime(&self, ty: &Type) -> TokenStream {
        self.with_lifetime(ty, &syn::Lifetime::new("'static", Span::call_site()))
    }
}
