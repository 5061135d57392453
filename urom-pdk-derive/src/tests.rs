//! Compares the expansions with snapshot files, so that changes of the generated code are reviewed.
//! `UROM_BLESS=1 cargo test -p urom-pdk-derive` rewrites the files.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use syn::{Attribute, File, Item, Meta};

use crate::expand;
use crate::parse::Macro;

fn take_macro(attributes: &mut Vec<Attribute>) -> Option<(String, TokenStream)> {
    let at = attributes.iter().position(|attribute| {
        attribute.path().get_ident().is_some_and(|name| name.to_string().starts_with("urom_"))
    })?;
    let attribute = attributes.remove(at);
    let args = match &attribute.meta {
        Meta::List(list) => list.tokens.clone(),
        _ => TokenStream::new(),
    };
    Some((attribute.path().to_token_stream().to_string(), args))
}

fn expand_item(mut item: Item) -> TokenStream {
    let attribute = match &mut item {
        Item::Enum(item) => take_macro(&mut item.attrs),
        Item::Impl(item) => take_macro(&mut item.attrs),
        _ => None,
    };
    let item = item.to_token_stream();
    match attribute {
        Some((name, args)) => match name.as_str() {
            "urom_command" => expand::messages(Macro::Command, args, item),
            "urom_notification" => expand::messages(Macro::Notification, args, item),
            "urom_plugin" => expand::plugin(args, item),
            other => panic!("no macro is called {other}"),
        },
        None => item,
    }
}

const CRATE: &str = env!("CARGO_MANIFEST_DIR");

fn expand_file(source: &str) -> TokenStream {
    let source = fs::read_to_string(Path::new(CRATE).join(source)).unwrap();
    syn::parse_file(&source).unwrap().items.into_iter().map(expand_item).collect()
}

fn compare(expanded: &str, name: &Path) {
    let (path, name) = (Path::new(CRATE).join(name), name.display());
    if std::env::var_os("UROM_BLESS").is_some() {
        fs::write(&path, expanded).unwrap();
    }
    let expected = fs::read_to_string(&path).unwrap();
    if expanded != expected {
        let first = expanded.lines().zip(expected.lines()).position(|(now, before)| now != before);
        panic!(
            "{name} is no longer what the macros make (first in line {}): read the difference after UROM_BLESS=1\n{expanded}",
            first.unwrap_or_default() + 1
        );
    }
}

#[test]
fn protocols_plugins_and_a_definition_with_an_error_expand_to_their_snapshots() {
    for (source, name) in [
        ("../plugins/graph-rs/plugin/src/lib.rs", "graph_plugin.expanded.rs"),
        ("../plugins/sandbox-rs/protocol/src/lib.rs", "sandbox_protocol.expanded.rs"),
        ("src/snapshots/mistaken.rs", "mistaken.expanded.rs"),
    ] {
        let expanded = syn::parse2::<File>(expand_file(source)).unwrap();
        compare(&prettyplease::unparse(&expanded), &Path::new("src/snapshots").join(name));
    }
}

fn names(tokens: TokenStream, all: &mut BTreeSet<String>) {
    crate::tokens::identifiers(tokens, &mut |name| {
        let name = crate::names::text(name);
        if !name.starts_with('_') && syn::parse_str::<Ident>(&name).is_ok() {
            all.insert(name);
        }
    });
}

#[test]
fn the_test_of_every_name_has_the_names_of_an_expansion() {
    let mut all = BTreeSet::new();
    for file in ["protocol.rs", "plugin.rs"] {
        names(expand_file(&format!("../ui-tests/pass/every_name/{file}")), &mut all);
    }
    assert!(!all.contains("compile_error"));
    // The definition writes them where a path is not possible.
    all.retain(|name| !["u8", "u64"].contains(&name.as_str()));
    let mut list =
        String::from("macro_rules! every_name {\n    ($make:ident) => {\n        $make! {");
    let mut width = usize::MAX;
    for name in all {
        let line = if width > 88 - name.len() { "\n           " } else { "" };
        width = if line.is_empty() { width } else { 0 } + name.len() + 1;
        list += &format!("{line} {name}");
    }
    list += "\n        }\n    };\n}\n";
    compare(&list, Path::new("../ui-tests/pass/every_name/names.rs"));
}
