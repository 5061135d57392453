//! The part of rustdoc's JSON that says which items are public and what their comments are.
//!
//! The format is unstable; of the little that is read here nothing has changed for years. What is missing is an error,
//! and so is a crate without items.

use std::collections::{HashMap, HashSet};
use std::fmt;

use anyhow::Result;
use serde::Deserialize;

use super::blocks;

/// An item that an example has to show.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Item {
    path: String,
    place: String,
    /// Whether one does.
    pub(crate) shown: bool,
}

impl fmt::Display for Item {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.path, self.place)
    }
}

type Id = u64;

/// What rustdoc says of a crate.
#[derive(Deserialize)]
pub(crate) struct Documentation {
    root: Id,
    index: HashMap<Id, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    crate_id: u64,
    name: Option<String>,
    docs: Option<String>,
    visibility: serde_json::Value,
    span: Option<Span>,
    inner: Inner,
}

#[derive(Deserialize)]
struct Span {
    filename: String,
    /// Line and column.
    begin: (u64, u64),
}

/// What an entry is: one member, named for its kind.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Inner {
    Module(Items),
    Use(Use),
    Struct(Type),
    Enum(Type),
    Union(Type),
    Trait(Items),
    Impl(Impl),
    Function(serde::de::IgnoredAny),
    Macro(serde::de::IgnoredAny),
    ProcMacro(serde::de::IgnoredAny),
    #[serde(untagged)]
    Other(serde::de::IgnoredAny),
}

#[derive(Deserialize)]
struct Items {
    items: Vec<Id>,
}

#[derive(Deserialize)]
struct Use {
    id: Option<Id>,
    name: String,
    is_glob: bool,
}

#[derive(Deserialize)]
struct Type {
    impls: Vec<Id>,
}

#[derive(Deserialize)]
struct Impl {
    #[serde(rename = "trait")]
    of: Option<serde::de::IgnoredAny>,
    items: Vec<Id>,
}

impl Documentation {
    /// Reads rustdoc's output.
    pub(crate) fn parse(json: &[u8]) -> Result<Self> {
        Ok(serde_json::from_slice(json)?)
    }

    /// The items that the rule is about, outside of what `inner` names in the root.
    pub(crate) fn items(&self, inner: &[&str]) -> Vec<Item> {
        let mut walk = Walk { documentation: self, inner, seen: HashSet::new(), found: Vec::new() };
        if let Some(root) = self.index.get(&self.root) {
            walk.visit(self.root, root.name.as_deref().unwrap_or_default(), "");
        }
        walk.found
    }
}

struct Walk<'a> {
    documentation: &'a Documentation,
    inner: &'a [&'a str],
    seen: HashSet<Id>,
    found: Vec<Item>,
}

impl<'a> Walk<'a> {
    /// Looks at an entry that is public by the name `name` in the module `parent`.
    fn visit(&mut self, id: Id, name: &str, parent: &str) {
        let Some(entry) = self.documentation.index.get(&id).filter(|entry| entry.crate_id == 0)
        else {
            return;
        };
        let path = if parent.is_empty() { name.to_owned() } else { format!("{parent}::{name}") };
        if path.split_once("::").is_some_and(|(_, inside)| self.inner.contains(&inside)) {
            return;
        }
        match &entry.inner {
            Inner::Use(Use { id: Some(id), name, is_glob }) => {
                match self.documentation.index.get(id) {
                    Some(Entry { inner: Inner::Module(module), .. }) if *is_glob => {
                        self.each(&module.items, parent)
                    }
                    _ => self.visit(*id, name, parent),
                }
            }
            Inner::Module(module) => {
                if self.seen.insert(id) {
                    self.each(&module.items, &path);
                }
            }
            Inner::Struct(Type { impls })
            | Inner::Enum(Type { impls })
            | Inner::Union(Type { impls }) => {
                if self.seen.insert(id) {
                    let blocks = impls.iter().filter_map(|id| self.inherent(*id)).flatten();
                    let methods =
                        blocks.filter(|method| method.visibility == "public").collect::<Vec<_>>();
                    self.page(entry, &path, &methods);
                }
            }
            Inner::Trait(Items { items }) => {
                if self.seen.insert(id) {
                    let methods = self.functions(items).collect::<Vec<_>>();
                    self.page(entry, &path, &methods);
                }
            }
            Inner::Function(_) | Inner::Macro(_) | Inner::ProcMacro(_) => {
                if self.seen.insert(id) {
                    self.page(entry, &path, &[]);
                }
            }
            Inner::Use(_) | Inner::Impl(_) | Inner::Other(_) => {}
        }
    }

    /// Looks at the items of a module, deeper modules last: what is public by two paths is known by the shorter one.
    fn each(&mut self, items: &[Id], parent: &str) {
        let entries = items.iter().filter_map(|id| Some((*id, self.documentation.index.get(id)?)));
        let (modules, others): (Vec<_>, Vec<_>) =
            entries.partition(|(_, entry)| matches!(entry.inner, Inner::Module(_)));
        for (id, entry) in others.into_iter().chain(modules) {
            self.visit(id, entry.name.as_deref().unwrap_or_default(), parent);
        }
    }

    /// The functions in an `impl` that is of no trait.
    fn inherent(&self, id: Id) -> Option<impl Iterator<Item = &'a Entry> + use<'a>> {
        match &self.documentation.index.get(&id)?.inner {
            Inner::Impl(Impl { of: None, items }) => Some(self.functions(items)),
            _ => None,
        }
    }

    fn functions(&self, items: &'a [Id]) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let index = &self.documentation.index;
        let entries = items.iter().filter_map(move |id| index.get(id));
        entries.filter(|entry| matches!(entry.inner, Inner::Function(_)))
    }

    /// Notes an item, and its methods, each shown by its own example or by any on the item's page.
    fn page(&mut self, item: &Entry, path: &str, methods: &[&Entry]) {
        let own = item.example();
        self.note(item, path.to_owned(), own.is_some());
        let page = own.into_iter().chain(methods.iter().filter_map(|method| method.example()));
        let page = page.collect::<Vec<_>>().join("\n");
        for method in methods {
            let name = method.name.as_deref().unwrap_or_default();
            let shown = method.example().is_some() || blocks::names(&page, name);
            self.note(method, format!("{path}::{name}"), shown);
        }
    }

    fn note(&mut self, entry: &Entry, path: String, shown: bool) {
        let place = entry.span.as_ref().map(|span| format!("{}:{}", span.filename, span.begin.0));
        self.found.push(Item { path, place: place.unwrap_or_default(), shown });
    }
}

impl Entry {
    fn example(&self) -> Option<String> {
        blocks::of(self.docs.as_deref()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(id: Id, name: &str, docs: &str, inner: &str) -> String {
        let span = r#"{"filename":"src/lib.rs","begin":[7,1],"end":[8,1]}"#;
        let name = if name.is_empty() { "null".to_owned() } else { format!("{name:?}") };
        format!(
            r#""{id}":{{"crate_id":0,"name":{name},"docs":{docs:?},"visibility":"public","span":{span},"inner":{inner}}}"#
        )
    }

    /// A crate `c` with a private module of one struct that the root gives on, a function, and a module `deep`.
    fn items(struct_docs: &str, method_docs: &str, inner: &[&str]) -> Vec<(String, bool)> {
        let entries = [
            entry(0, "c", "", r#"{"module":{"items":[2,5,6]}}"#),
            entry(2, "", "", r#"{"use":{"source":"hidden::S","id":3,"name":"S","is_glob":false}}"#),
            entry(3, "S", struct_docs, r#"{"struct":{"impls":[8,9],"kind":"unit"}}"#),
            entry(4, "send", method_docs, r#"{"function":{"sig":{}}}"#),
            entry(5, "free", "```\nc::free();\n```", r#"{"function":{}}"#),
            entry(6, "deep", "", r#"{"module":{"items":[7,2]}}"#),
            entry(7, "LIMIT", "", r#"{"constant":{"type":{}}}"#),
            entry(8, "", "", r#"{"impl":{"trait":null,"items":[4]}}"#),
            entry(9, "", "", r#"{"impl":{"trait":{"path":"Drop"},"items":[10]}}"#),
            entry(10, "drop", "", r#"{"function":{}}"#),
        ];
        let json = format!(r#"{{"root":0,"format_version":1,"index":{{{}}}}}"#, entries.join(","));
        let documentation = Documentation::parse(json.as_bytes()).expect("it is well-formed");
        documentation.items(inner).into_iter().map(|item| (item.path, item.shown)).collect()
    }

    fn expected(of_struct: bool, of_method: bool) -> Vec<(String, bool)> {
        let items = [("c::S", of_struct), ("c::S::send", of_method), ("c::free", true)];
        items.map(|(path, shown)| (path.to_owned(), shown)).into()
    }

    #[test]
    fn items_and_methods_without_an_example_are_found_once() {
        assert_eq!(items("Text.", "Text.", &[]), expected(false, false));
    }

    #[test]
    fn an_example_on_the_type_shows_the_methods_that_it_names() {
        assert_eq!(items("```\ns.send();\n```", "", &[]), expected(true, true));
        assert_eq!(items("```\ns.resend();\n```", "", &[]), expected(true, false));
    }

    #[test]
    fn an_example_on_a_method_does_not_stand_for_its_type() {
        assert_eq!(items("", "```\ns.send();\n```", &[]), expected(false, true));
    }

    #[test]
    fn modules_for_the_kit_itself_are_left_out() {
        assert_eq!(items("", "", &["deep"]).len(), 3, "S is public by another path");
        assert!(
            items("", "", &[])
                .iter()
                .all(|(path, _)| !path.contains("drop") && !path.contains("LIMIT"))
        );
    }

    #[test]
    fn another_format_is_an_error() {
        assert!(Documentation::parse(br#"{"root":0}"#).is_err());
        assert!(Documentation::parse(b"").is_err());
    }
}
