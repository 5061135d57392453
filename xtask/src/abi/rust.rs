//! The Rust side under its C names: the lists of functions, what the library exports beside them,
//! and the structures.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use syn::{Attribute, Item};

use super::c::literal;
use super::macros::Macros;
use super::model::{Field, Interface, Record, Type};
use super::names::{ENUMS, FLEXIBLE, IN_SOURCES, LAYOUTS, OF_PLUGINS, OPAQUE, constants};
use super::types::{Scope, check_abi};

/// The files that define the types of the interface, from the workspace's root.
const TYPES: [&str; 5] = [
    "urom-abi/src/cpu.rs",
    "urom-abi/src/error.rs",
    "urom-abi/src/host/mod.rs",
    "urom-abi/src/list.rs",
    "urom-abi/src/plugin.rs",
];

/// Where functions are exported.
const EXPORTS: [&str; 4] =
    ["libdoca/common/src", "libdoca/argp/src", "libdoca/urom/src", "urom-log/src"];

/// The lists of functions.
const LISTS: &str = "urom-abi/src/host/functions.rs";

/// The files that are read.
pub(crate) struct Sources {
    types: Vec<(PathBuf, syn::File)>,
    lists: syn::File,
    exports: Vec<(PathBuf, syn::File)>,
    /// Those that [`IN_SOURCES`] names.
    constants: BTreeMap<&'static str, syn::File>,
}

impl Sources {
    /// Reads them.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let types = TYPES.iter().map(|path| parse(root, Path::new(path)));
        let mut exports = Vec::new();
        for directory in EXPORTS {
            collect(root, Path::new(directory), &mut exports)?;
        }
        let constants =
            IN_SOURCES.iter().map(|(_, file, _)| Ok((*file, parse(root, Path::new(file))?.1)));
        Ok(Self {
            types: types.collect::<Result<_>>()?,
            lists: parse(root, Path::new(LISTS))?.1,
            exports,
            constants: constants.collect::<Result<_>>()?,
        })
    }

    /// All that Rust has of the interface, and what cannot be understood of it.
    pub(crate) fn interface(&self) -> Result<(Interface, Vec<String>)> {
        let mut scope = Scope::default();
        let opaque = OPAQUE.iter().chain(ENUMS).copied();
        let records = LAYOUTS.iter().map(|layout| (layout.rust, layout.c));
        scope.c_names =
            opaque.chain(records).map(|(rust, c)| (rust.to_owned(), c.to_owned())).collect();
        for (_, file) in &self.types {
            learn(&mut scope, &file.items);
        }
        let mut macros = Macros::default();
        learn_macros(&mut macros, &self.lists.items)?;
        let mut foreign = BTreeMap::new();
        for (path, file) in &self.exports {
            learn_macros(&mut macros, &file.items).with_context(|| path.display().to_string())?;
            // An alias may be used in another file; one of this name there comes before it.
            learn(&mut scope, &file.items);
            for item in &file.items {
                if let Item::ForeignMod(block) = item {
                    foreign.extend(declared(block));
                }
            }
        }
        let mut found = Interface { constants: constants(), ..Interface::default() };
        found.opaque = OPAQUE.iter().map(|(_, c)| (*c).to_owned()).collect();
        self.structures(&scope, &mut found)?;
        self.constants(&mut found)?;
        let mut functions = Functions {
            scope: scope.clone(),
            macros,
            foreign: &foreign,
            found: &mut found,
            trouble: Vec::new(),
        };
        functions.of_plugins()?;
        for (path, file) in &self.exports {
            // A file's own aliases and macros are no other file's.
            functions.scope = scope.clone();
            learn(&mut functions.scope, &file.items);
            learn_macros(&mut functions.macros, &file.items)?;
            functions.exported(path, &file.items);
        }
        let trouble = functions.trouble;
        Ok((found, trouble))
    }

    fn structures(&self, scope: &Scope, found: &mut Interface) -> Result<()> {
        let items = || self.types.iter().chain(&self.exports).flat_map(|(_, file)| &file.items);
        for (rust, c) in ENUMS {
            let ty = items().find_map(|item| match item {
                Item::Struct(item) if item.ident == rust => Some(&item.fields.iter().next()?.ty),
                Item::Type(item) if item.ident == rust => Some(&*item.ty),
                _ => None,
            });
            let ty = ty.with_context(|| format!("there is no type {rust}"))?;
            found.enums.insert((*c).to_owned(), scope.convert(ty)?);
        }
        for layout in LAYOUTS {
            let fields = items().find_map(|item| match item {
                Item::Struct(item) if item.ident == layout.rust => match &item.fields {
                    syn::Fields::Named(fields) => Some((false, fields)),
                    _ => None,
                },
                Item::Union(item) if item.ident == layout.rust => Some((true, &item.fields)),
                _ => None,
            });
            let (union, fields) =
                fields.with_context(|| format!("there is no structure {}", layout.rust))?;
            let record =
                Record { union, size: layout.size, align: layout.align, fields: Vec::new() };
            found
                .records
                .insert(layout.c.to_owned(), with_fields(record, layout.fields, fields, scope)?);
        }
        for (name, member) in FLEXIBLE {
            let record = found
                .records
                .get_mut(*name)
                .with_context(|| format!("no structure is {name} in C"))?;
            let ty = Type::Array { of: Box::new(Type::Name("u8".to_owned())), len: 0 };
            record.fields.push(Field { name: (*member).to_owned(), ty, offset: record.size });
        }
        Ok(())
    }

    fn constants(&self, found: &mut Interface) -> Result<()> {
        for (c, file, name) in IN_SOURCES {
            let value = self.constants.get(file).and_then(|source| constant(&source.items, name));
            let value = value
                .with_context(|| format!("{file} has no constant {name}, which is to hold {c}"))?;
            if let Some(other) = found.constants.insert((*c).to_owned(), value.clone()) {
                ensure!(
                    other == value,
                    "{c}: {value} by {name} in {file}, {other} elsewhere in Rust"
                );
            }
        }
        Ok(())
    }
}

/// Adds the fields of a structure, and checks that each is in the table.
fn with_fields(
    mut record: Record,
    table: &[(&str, &str, usize)],
    fields: &syn::FieldsNamed,
    scope: &Scope,
) -> Result<Record> {
    for field in &fields.named {
        let own = field.ident.as_ref().context("a field without a name")?.to_string();
        let line = table.iter().find(|(_, rust, _)| *rust == own);
        let (c, _, offset) =
            line.with_context(|| format!("xtask/src/abi/names.rs does not know the field {own}"))?;
        let ty = scope.convert(&field.ty).with_context(|| own.clone())?;
        record.fields.push(Field { name: (*c).to_owned(), ty, offset: *offset });
    }
    Ok(record)
}

struct Functions<'a> {
    scope: Scope,
    macros: Macros,
    foreign: &'a BTreeMap<String, syn::Signature>,
    found: &'a mut Interface,
    trouble: Vec<String>,
}

impl Functions<'_> {
    /// Those that a plugin exports; Rust has a type for each.
    fn of_plugins(&mut self) -> Result<()> {
        for (name, alias) in OF_PLUGINS {
            self.found.functions.insert((*name).to_owned(), self.scope.function_alias(alias)?);
        }
        Ok(())
    }

    /// Those that a file defines under their own names, or by a macro.
    fn exported(&mut self, path: &Path, items: &[Item]) {
        let file = path.display().to_string();
        for item in items {
            match item {
                // Between two of the libraries, and of their own types.
                Item::Fn(function) if function.sig.ident == urom_abi::host::join::SYMBOL => {}
                Item::Fn(function) if is_exported(&function.attrs) => {
                    if let Err(error) = check_abi(function.sig.abi.as_ref()) {
                        self.trouble.push(format!("{file}: {}: {error:#}", function.sig.ident));
                    }
                    self.add(&file, &function.sig, is_naked(&function.attrs));
                }
                Item::Mod(module) => {
                    if let Some((_, items)) = &module.content {
                        self.exported(path, items);
                    }
                }
                Item::Macro(item) if item.ident.is_none() => match self.macros.expand(&item.mac) {
                    Ok(Some(items)) => self.exported(path, &items),
                    Ok(None) => {}
                    Err(error) => self.trouble.push(format!("{file}: {error:#}")),
                },
                _ => {}
            }
        }
    }

    /// A naked function only jumps: to the function of C's that Rust declares under its name behind
    /// `urom_`.
    fn add(&mut self, file: &str, signature: &syn::Signature, naked: bool) {
        let name = signature.ident.to_string();
        let signature = match self.foreign.get(&format!("urom_{name}")) {
            Some(behind) if naked => behind,
            _ => signature,
        };
        match self.scope.signature(signature) {
            Ok(converted) => {
                if self.found.functions.insert(name.clone(), converted).is_some() {
                    self.trouble.push(format!("{file}: {name} is defined twice"));
                }
            }
            Err(error) => self.trouble.push(format!("{file}: {name}: {error:#}")),
        }
    }
}

/// `#[unsafe(no_mangle)]`.
fn is_exported(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| is_unsafe(attribute, "no_mangle"))
}

/// `#[unsafe(naked)]`.
fn is_naked(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| is_unsafe(attribute, "naked"))
}

fn is_unsafe(attribute: &Attribute, name: &str) -> bool {
    attribute.path().is_ident("unsafe")
        && attribute.parse_args::<syn::Path>().is_ok_and(|inside| inside.is_ident(name))
}

fn learn_macros(macros: &mut Macros, items: &[Item]) -> Result<()> {
    items.iter().try_for_each(|item| match item {
        Item::Macro(item) => macros.learn(item),
        _ => Ok(()),
    })
}

/// What a block declares.
fn declared(block: &syn::ItemForeignMod) -> impl Iterator<Item = (String, syn::Signature)> {
    block.items.iter().filter_map(|item| match item {
        syn::ForeignItem::Fn(function) => {
            Some((function.sig.ident.to_string(), function.sig.clone()))
        }
        _ => None,
    })
}

/// Learns the aliases and numbers of a file.
fn learn(scope: &mut Scope, items: &[Item]) {
    for item in items {
        match item {
            Item::Type(item) => {
                scope.aliases.insert(item.ident.to_string(), (*item.ty).clone());
            }
            Item::Const(item) => {
                if let Some(number) = literal(&item.expr).and_then(|text| text.parse().ok()) {
                    scope.numbers.insert(item.ident.to_string(), number);
                }
            }
            _ => {}
        }
    }
}

/// The value of `NAME` or of `TYPE::NAME`; `TYPE(VALUE)` counts as the value.
fn constant(items: &[Item], name: &str) -> Option<String> {
    let plain = |expression: &syn::Expr| match expression {
        syn::Expr::Call(call) => call.args.first().and_then(literal),
        other => literal(other),
    };
    items.iter().find_map(|item| match (item, name.split_once("::")) {
        (Item::Const(item), None) if item.ident == name => plain(&item.expr),
        (Item::Enum(item), Some((owner, name))) if item.ident == owner => {
            let variant = item.variants.iter().find(|variant| variant.ident == name)?;
            plain(&variant.discriminant.as_ref()?.1)
        }
        (Item::Impl(item), Some((owner, name))) => {
            let syn::Type::Path(path) = &*item.self_ty else { return None };
            if !path.path.is_ident(owner) {
                return None;
            }
            item.items.iter().find_map(|item| match item {
                syn::ImplItem::Const(item) if item.ident == name => plain(&item.expr),
                _ => None,
            })
        }
        _ => None,
    })
}

fn parse(root: &Path, path: &Path) -> Result<(PathBuf, syn::File)> {
    let text = fs::read_to_string(root.join(path))?;
    let file = syn::parse_file(&text).with_context(|| format!("parsing {}", path.display()))?;
    Ok((path.to_owned(), file))
}

/// All Rust files below a directory. One that does not exist holds none.
fn collect(root: &Path, directory: &Path, into: &mut Vec<(PathBuf, syn::File)>) -> Result<()> {
    let entries = match fs::read_dir(root.join(directory)) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(error) => bail!("reading {}: {error}", directory.display()),
    };
    for entry in entries {
        let entry = entry?;
        let path = directory.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            collect(root, &path, into)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(parse(root, &path)?);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What cannot be understood when a file of this text is one of those that export functions.
    fn trouble(text: &str) -> Vec<String> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace");
        let mut sources = Sources::read(root).expect("Rust");
        sources.exports.push((PathBuf::from("more.rs"), syn::parse_file(text).expect("Rust")));
        sources.interface().expect("Rust").1
    }

    #[test]
    fn a_function_that_c_cannot_call_is_found() {
        let export = |signature: &str| trouble(&format!("#[unsafe(no_mangle)] {signature} {{}}"));
        assert_eq!(export("extern \"C\" fn doca_more(x: u32)"), [""; 0]);
        let convention = "more.rs: doca_more: its calling convention is not extern \"C\"";
        assert_eq!(export("extern \"C-unwind\" fn doca_more()"), [convention]);
        assert_eq!(export("fn doca_more()"), [convention]);
        let null = export("extern \"C\" fn doca_more(f: unsafe extern \"C\" fn())");
        assert!(null[0].contains("a function pointer that cannot be NULL"), "{null:?}");
        let reference = export("extern \"C\" fn doca_more(x: &mut u32)");
        assert!(reference[0].contains("a type that C does not have"), "{reference:?}");
        let unknown = export("extern \"C\" fn doca_more(x: *mut Mystery)");
        assert!(
            unknown[0].contains("`Mystery`, for which xtask/src/abi/names.rs has no C name"),
            "{unknown:?}"
        );
    }

    #[test]
    fn a_function_that_is_exported_twice_is_found() {
        let text =
            "#[unsafe(no_mangle)] extern \"C\" fn doca_version_runtime() -> *const c_char { NULL }";
        assert_eq!(trouble(text), ["more.rs: doca_version_runtime is defined twice"]);
    }

    #[test]
    fn a_function_that_is_not_exported_is_nobodys_business() {
        assert_eq!(trouble("extern \"C\" fn doca_private(x: &str) {}"), [""; 0]);
    }

    #[test]
    fn a_constant_is_found_by_its_name_and_that_of_its_owner() {
        let text =
            "const A: u32 = 1; struct S(u32); impl S { const A: S = S(2); } enum E { A = 3, B }";
        let items = syn::parse_file(text).expect("Rust").items;
        let value = |name| constant(&items, name);
        assert_eq!(
            [value("A"), value("S::A"), value("E::A")],
            ["1", "2", "3"].map(|text| Some(text.to_owned()))
        );
        assert_eq!(
            [value("B"), value("S::B"), value("E::B"), value("T::A")],
            [None, None, None, None]
        );
    }
}
