//! `#[derive(Described)]`, and the descriptions of field types.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{
    Attribute, Data, DataEnum, DeriveInput, Expr, ExprLit, Field, Fields, Ident, Index, Lit, Meta,
    Path, Type,
};

use crate::attrs::Keys;
use crate::diagnostics::{Errors, messages};
use crate::model::plainly;
use crate::names;

pub(crate) fn described(item: TokenStream) -> TokenStream {
    let mut input = match syn::parse2::<DeriveInput>(item) {
        Ok(input) => input,
        Err(error) => return error.into_compile_error(),
    };
    let mut errors = Errors::default();
    let krate = krate(&mut input.attrs, &mut errors);
    for parameter in &input.generics.params {
        errors.on(parameter, messages::generic_described(names::written(parameter)));
    }
    let ty = match &input.data {
        Data::Struct(data) => {
            let fields = data.fields.iter().collect::<Vec<_>>();
            no_helpers(fields.iter().flat_map(|field| &field.attrs), &mut errors);
            match fields.as_slice() {
                [only] if has_repr(&input.attrs, "transparent") => type_of(&only.ty),
                _ => structure(&input, &fields),
            }
        }
        Data::Enum(data) => enumeration(&input, data, &mut errors),
        Data::Union(data) => {
            errors.on(data.union_token, messages::not_described("a union"));
            TokenStream::new()
        }
    };
    if let Some(errors) = errors.into_compile_errors() {
        return errors;
    }
    let (name, imports) = (&input.ident, imports(&krate));
    quote! {
        #[automatically_derived]
        impl #krate::describe::Described for #name {
            const TYPE: #krate::describe::Type = {
                #imports
                #ty
            };
        }
    }
}

fn krate(attributes: &mut Vec<Attribute>, errors: &mut Errors) -> Path {
    let mut keys = Keys::take_helpers(attributes, errors);
    let krate = keys.krate("urom_abi", errors);
    keys.finish(errors);
    krate
}

fn no_helpers<'a>(attributes: impl Iterator<Item = &'a Attribute>, errors: &mut Errors) {
    for helper in attributes.filter(|attribute| attribute.path().is_ident("urom")) {
        errors.on(helper, messages::described_field_key());
    }
}

fn has_repr(attributes: &[Attribute], what: &str) -> bool {
    let mut reprs = attributes.iter().filter(|attribute| attribute.path().is_ident("repr"));
    reprs.any(|repr| repr.to_token_stream().to_string().contains(what))
}

fn enumeration(input: &DeriveInput, data: &DataEnum, errors: &mut Errors) -> TokenStream {
    const INTEGERS: [&str; 8] = ["u8", "u16", "u32", "u64", "i8", "i16", "i32", "i64"];
    let name = &input.ident;
    let with_fields =
        data.variants.iter().filter(|variant| !matches!(variant.fields, Fields::Unit));
    let with_fields = with_fields.map(|variant| &variant.ident).collect::<Vec<&Ident>>();
    for variant in &with_fields {
        errors.on(variant, messages::enum_with_fields(variant));
    }
    no_helpers(data.variants.iter().flat_map(|variant| &variant.attrs), errors);
    let repr = INTEGERS.iter().find(|integer| has_repr(&input.attrs, integer));
    if repr.is_none() && with_fields.is_empty() {
        errors.on(name, messages::enum_without_repr(name));
    }
    let signed = repr.is_some_and(|repr| repr.starts_with('i'));
    let (text, all_docs) = (names::text(name), docs(&input.attrs));
    let values = data.variants.iter().map(|variant| {
        let (ident, text, docs) =
            (&variant.ident, names::text(&variant.ident), docs(&variant.attrs));
        quote! {
            __p::EnumValue {
                name: #text,
                docs: #docs,
                value: #name::#ident as ::core::primitive::i128,
            }
        }
    });
    quote! {
        __p::Type::Enum(const {
            &__p::Enum {
                name: #text,
                docs: #all_docs,
                bytes: ::core::mem::size_of::<#name>(),
                signed: #signed,
                values: &[#(#values),*],
            }
        })
    }
}

fn structure(input: &DeriveInput, fields: &[&Field]) -> TokenStream {
    let name = &input.ident;
    let (text, all_docs) = (names::text(name), docs(&input.attrs));
    let fields = fields.iter().enumerate().map(|(number, field)| {
        let (member, text) = match &field.ident {
            Some(ident) => (ident.to_token_stream(), names::text(ident)),
            None => (Index::from(number).to_token_stream(), number.to_string()),
        };
        let (docs, ty) = (docs(&field.attrs), type_of(&field.ty));
        quote! {
            __p::StructField {
                name: #text,
                docs: #docs,
                offset: ::core::mem::offset_of!(#name, #member),
                ty: #ty,
            }
        }
    });
    quote! {
        __p::Type::Struct(const {
            &__p::Struct {
                name: #text,
                docs: #all_docs,
                size: ::core::mem::size_of::<#name>(),
                align: ::core::mem::align_of::<#name>(),
                fields: &[#(#fields),*],
            }
        })
    }
}

fn imports(krate: &Path) -> TokenStream {
    quote! {
        use #krate::__private as __p;
        use __p::NotDescribed as _;
    }
}

/// Returns the constant description of `ty`, or opaque. Needs `__p`, `NotDescribed` in scope.
pub(crate) fn type_of(ty: &Type) -> TokenStream {
    match plainly(ty) {
        // Element by element, so that an array of opaque elements is still an array.
        Type::Array(array) => {
            let (of, len) = (type_of(&array.elem), &array.len);
            quote!(__p::Type::Array { of: const { &#of }, len: #len })
        }
        ty => {
            let name = names::written(ty);
            quote!(__p::ty(<__p::Probe<#ty>>::FOUND, #name))
        }
    }
}

pub(crate) fn docs(attributes: &[Attribute]) -> TokenStream {
    let mut parts: Vec<TokenStream> = Vec::new();
    let mut text = String::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        match &doc.value {
            Expr::Lit(ExprLit { lit: Lit::Str(line), .. }) => text.push_str(&line.value()),
            // Such as `include_str!`.
            other => {
                parts.push(std::mem::take(&mut text).into_token_stream());
                parts.push(other.to_token_stream());
            }
        }
        text.push('\n');
    }
    let text = text.trim_end();
    if parts.is_empty() {
        text.to_token_stream()
    } else {
        quote!(::core::concat!(#(#parts,)* #text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn docs_of(item: TokenStream) -> String {
        docs(&syn::parse2::<syn::ItemStruct>(item).unwrap().attrs).to_string()
    }

    #[test]
    fn documentation_is_one_text() {
        assert_eq!(
            docs_of(quote!(
                struct A;
            )),
            r#""""#
        );
        let two = quote! {
            #[doc = " One."]
            #[doc(hidden)]
            #[doc = " Two."]
            struct A;
        };
        assert_eq!(docs_of(two), r#"" One.\n Two.""#);
    }

    #[test]
    fn documentation_from_elsewhere_is_left_to_rustc() {
        let from_file = quote! {
            #[doc = " One."]
            #[doc = include_str!("a.md")]
            #[doc = " Two."]
            struct A;
        };
        let text = docs_of(from_file).replace(' ', "");
        assert_eq!(text, r#"::core::concat!("One.\n",include_str!("a.md"),"\nTwo.")"#);
    }
}
