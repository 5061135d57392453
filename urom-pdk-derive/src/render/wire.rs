//! Where every field lies, as constants, and the code that reads and writes them there.

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::Render;
use crate::diagnostics::messages;
use crate::model::{Field, Kind, Variant};
use crate::names;

impl Render<'_> {
    /// The tag's type.
    pub(super) fn tag_type(&self) -> Ident {
        Ident::new(self.model.tag.width.name(), Span::call_site())
    }

    /// The constants: the length of the fixed part, the tag, and each field's place.
    pub(super) fn layout(&self) -> TokenStream {
        if self.inert {
            return quote!(
                const __LEN: usize = 0;
                const __FINGERPRINT: u64 = 0;
            );
        }
        let wire = self.wire();
        let tag = self.tag_type();
        let variants = self.model.variants.iter().map(|variant| self.variant_layout(variant));
        let members = self.model.variants.iter().map(|variant| {
            let extents = names::extents_const(variant);
            if variant.fields.is_empty() { quote!(&[]) } else { quote!(&#extents) }
        });
        let limit = self.limit();
        let known = self.model.variants.iter().map(|variant| {
            let (name, tag) = (names::text(&variant.ident), variant.tag);
            quote!((#name, #tag))
        });
        let fingerprint = self.fingerprint();
        quote! {
            use #wire::layout as __layout;
            const __TAG: #wire::Field<#tag, 0, __LEN> = #wire::field::<#tag, 0, __LEN>();
            const __UNION: __layout::Extent = __layout::union(&[#(__layout::structure(#members)),*]);
            const __UNION_AT: usize = __layout::align_up(::core::mem::size_of::<#tag>(), __UNION.align);
            const __LEN: usize = __layout::structure(&[__layout::Extent::of::<#tag>(), __UNION]).size;
            const __KNOWN: &[(&str, u64)] = &[#(#known),*];
            #(#variants)*
            #limit
            #fingerprint
        }
    }

    fn variant_layout(&self, variant: &Variant) -> TokenStream {
        if variant.fields.is_empty() {
            return TokenStream::new();
        }
        let wire = self.wire();
        let extents = names::extents_const(variant);
        let offsets = names::offsets_const(variant);
        let count = variant.fields.len();
        let types = variant.fields.iter().map(|field| &field.ty);
        let fields = variant.fields.iter().enumerate().map(|(i, field)| {
            let (name, ty) = (names::field_const(variant, field), &field.ty);
            // On the type's span, so that a type that is no plain data is underlined itself.
            let new = quote_spanned!(ty.span()=> #wire::field::<#ty, { #offsets[#i] }, __LEN>());
            quote!(const #name: #wire::Field<#ty, { #offsets[#i] }, __LEN> = #new;)
        });
        quote! {
            const #extents: [__layout::Extent; #count] = [#(__layout::Extent::of::<#types>()),*];
            const #offsets: [usize; #count] = __layout::offsets(__UNION_AT, #extents);
            #(#fields)*
        }
    }

    /// A message that can never be sent does not compile.
    fn limit(&self) -> TokenStream {
        let krate = &self.model.krate;
        let ident = &self.model.ident;
        let (header, text) = match self.model.kind {
            Kind::Command(_) => (quote!(WorkerCmd), messages::command_too_big(ident)),
            Kind::Notification => (quote!(WorkerNotify), messages::notification_too_big(ident)),
        };
        let text = text.to_string();
        let room = quote!(#krate::DEFAULT_MAX_MESSAGE - ::core::mem::size_of::<#krate::plugin::#header>());
        quote_spanned!(ident.span()=> const _: () = ::core::assert!(__LEN <= #room, #text);)
    }

    /// The names, tags and places as one number.
    fn fingerprint(&self) -> TokenStream {
        let wire = self.wire();
        let name = names::text(&self.model.ident);
        let variants = self.model.variants.iter().map(|variant| {
            let (name, tag) = (names::text(&variant.ident), variant.tag);
            let offsets = names::offsets_const(variant);
            let extents = names::extents_const(variant);
            let fields = variant.fields.iter().enumerate().map(|(i, field)| {
                let (name, echo) = (names::text(&field.ident), u64::from(field.echo.is_some()));
                quote! {
                    .text(#name)
                    .number(#offsets[#i] as u64)
                    .number(#extents[#i].size as u64)
                    .number(#echo)
                }
            });
            quote!(.text(#name).number(#tag) #(#fields)*)
        });
        quote! {
            const __FINGERPRINT: u64 =
                #wire::Fingerprint::new().text(#name).number(__LEN as u64) #(#variants)* .value();
        }
    }

    /// The path of `urom_abi::wire`.
    pub(super) fn wire(&self) -> TokenStream {
        let krate = &self.model.krate;
        quote!(#krate::wire)
    }

    /// Statements that write the tag and each of `fields` into `out`; `value` gives a reference to a field's value.
    pub(super) fn writes<'a>(
        &self,
        out: &Ident,
        variant: &Variant,
        fields: impl Iterator<Item = &'a Field>,
        value: impl Fn(&Field) -> TokenStream,
    ) -> TokenStream {
        let tag = Literal::u64_unsuffixed(variant.tag);
        let fields = fields.map(|field| {
            let (constant, value) = (names::field_const(variant, field), value(field));
            quote!(#constant.write(#out, #value);)
        });
        quote!(__TAG.write(#out, &#tag); #(#fields)*)
    }

    /// Member initialisers that read `fields` from `fixed`.
    pub(super) fn reads<'a>(
        &self,
        fixed: &Ident,
        variant: &Variant,
        fields: impl Iterator<Item = &'a Field>,
    ) -> TokenStream {
        let fields = fields.map(|field| {
            let (ident, constant) = (&field.ident, names::field_const(variant, field));
            quote!(#ident: #constant.read(#fixed))
        });
        quote!(#(#fields),*)
    }

    /// Statements that make `fixed` of `bytes`, or return: wrong length, or another tag than the variant's.
    pub(super) fn checked(&self, fixed: &Ident, bytes: &Ident, variant: &Variant) -> TokenStream {
        let wire = self.wire();
        let (name, tag) = (names::text(&variant.ident), variant.tag);
        let found = names::local("found");
        quote! {
            let #fixed = #wire::exact::<__LEN>(#name, #bytes)?;
            let #found = ::core::convert::Into::<u64>::into(__TAG.read(#fixed));
            if #found != #tag {
                return ::core::result::Result::Err(#wire::other_tag(#name, #found, #tag));
            }
        }
    }

    /// A `match` on the tag of `bytes`, with an arm for each variant.
    pub(super) fn by_tag(&self, bytes: &Ident, arm: impl Fn(&Variant) -> TokenStream) -> TokenStream {
        let wire = self.wire();
        let name = names::text(&self.model.ident);
        let tag = self.tag_type();
        let found = names::local("found");
        let arms = self.model.variants.iter().map(|variant| {
            let (tag, arm) = (variant.tag, arm(variant));
            quote!(#tag => #arm)
        });
        quote! {
            match #wire::tag::<#tag, __LEN>(#name, #bytes)? {
                #(#arms,)*
                #found => ::core::result::Result::Err(#wire::unknown_tag(#name, #found, __KNOWN))?,
            }
        }
    }

    /// The enum's inherent constants and its `encode`.
    pub(super) fn enum_impl(&self, decode: TokenStream) -> TokenStream {
        let wire = self.wire();
        let (vis, ident) = (&self.model.vis, &self.model.ident);
        let (bytes, out, fixed) = (names::local("bytes"), names::local("out"), names::local("fixed"));
        let decode = self.body(decode);
        let arms = self.model.variants.iter().map(|variant| {
            let (pattern, locals) = super::structs::pattern(ident, variant);
            let name = names::text(&variant.ident);
            let at = |field: &Field| variant.fields.iter().position(|other| std::ptr::eq(other, field));
            let writes = self.writes(&fixed, variant, variant.fields.iter(), |field| {
                let local = at(field).map(|i| &locals[i]);
                quote!(#local)
            });
            quote! {
                #pattern => {
                    let #fixed = #wire::room::<__LEN>(#name, #out)?;
                    #writes
                }
            }
        });
        let encode = self.body(quote! {
            match self { #(#arms)* }
            ::core::result::Result::Ok(__LEN)
        });
        quote! {
            #[automatically_derived]
            impl #ident {
                /// The size in bytes of every message without its inline payloads.
                #vis const FIXED_LEN: usize = __LEN;

                /// A hash of all names, tags and layouts: two builds with the same one agree on the bytes.
                #vis const FINGERPRINT: u64 = __FINGERPRINT;

                /// Reads a message of any variant.
                ///
                /// # Errors
                /// Which field is wrong, and how; a tag that no variant has lists those there are.
                #[inline]
                #vis fn decode(#bytes: &[u8]) -> ::core::result::Result<#ident, #wire::DecodeError> {
                    #decode
                }

                /// Writes the message to the start of `out` and returns how many bytes it took.
                ///
                /// # Errors
                /// `TooBig` when `out` is too short; nothing is written then.
                #[inline]
                #vis fn encode(&self, #out: &mut [u8]) -> ::core::result::Result<usize, #wire::EncodeError> {
                    #encode
                }
            }
        }
    }
}
