//! What stands in for a definition that has an error: the same items without bodies.
//!
//! So one mistake is one error, and not one more for every place that uses what the definition would have made.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use syn::parse_quote;

use crate::model::Messages;
use crate::names;
use crate::render::Render;
use crate::validate;

/// The items, for those variants that can have them.
pub(crate) fn messages(mut model: Messages) -> TokenStream {
    let mut taken = validate::fixed_items(&model).into_keys().collect::<HashSet<_>>();
    let variants = std::mem::take(&mut model.variants);
    for mut variant in variants {
        let items = validate::items_of(&model, &variant);
        if items.iter().any(|item| taken.contains(&names::text(item)))
            || names::method(&variant.ident).is_none()
        {
            continue;
        }
        taken.extend(items.iter().map(names::text));
        for field in &mut variant.fields {
            if validate::unsafe_type(&field.ty).is_some() {
                field.ty = parse_quote!(());
            }
        }
        model.variants.push(variant);
    }
    Render { model: &model, inert: true }.all()
}
