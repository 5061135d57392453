//! The Rust side under its C names: the lists of functions, what the library exports beside them, and the structures.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::parse::{Parse, ParseStream};
use syn::{Attribute, Item};

use super::c::literal;
use super::model::{Field, Interface, Record};
use super::names::{ENUMS, IN_SOURCES, LAYOUTS, OF_PLUGINS, OPAQUE, constants};
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
const EXPORTS: [&str; 2] = ["urom-service/libdoca/src", "urom-service/src/doca_log"];

macro_rules! texts {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        &[$(stringify!(fn $name($($arg: $ty),*) $(-> $ret)?;)),*]
    };
}

/// The functions that the table and its extensions are made of.
const LISTED: [&[&str]; 2] = [urom_abi::host_functions!(texts), urom_abi::host_extensions!(texts)];

/// The files that are read.
pub(crate) struct Sources {
    types: Vec<(PathBuf, syn::File)>,
    exports: Vec<(PathBuf, syn::File)>,
}

impl Sources {
    /// Reads them.
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let types = TYPES.iter().map(|path| parse(root, Path::new(path)));
        let mut exports = Vec::new();
        for directory in EXPORTS {
            collect(root, Path::new(directory), &mut exports)?;
        }
        Ok(Self { types: types.collect::<Result<_>>()?, exports })
    }

    /// All that Rust has of the interface, and what cannot be understood of it.
    pub(crate) fn interface(&self) -> Result<(Interface, Vec<String>)> {
        let mut scope = Scope::default();
        let opaque = OPAQUE.iter().chain(ENUMS).copied();
        let records = LAYOUTS.iter().map(|layout| (layout.rust, layout.c));
        scope.c_names = opaque.chain(records).map(|(rust, c)| (rust.to_owned(), c.to_owned())).collect();
        for (_, file) in self.types.iter().chain(&self.exports) {
            learn(&mut scope, &file.items);
        }
        let mut found = Interface { constants: constants(), ..Interface::default() };
        found.opaque = OPAQUE.iter().map(|(_, c)| (*c).to_owned()).collect();
        self.structures(&scope, &mut found)?;
        let mut functions = Functions { scope: &scope, found: &mut found, trouble: Vec::new() };
        functions.listed()?;
        for (path, file) in &self.exports {
            functions.exported(path, &file.items);
        }
        let trouble = functions.trouble;
        self.constants(&mut found)?;
        Ok((found, trouble))
    }

    fn structures(&self, scope: &Scope, found: &mut Interface) -> Result<()> {
        let items = || self.types.iter().flat_map(|(_, file)| &file.items);
        for (rust, c) in ENUMS {
            let item = items().find_map(|item| match item {
                Item::Struct(item) if item.ident == rust => item.fields.iter().next(),
                _ => None,
            });
            let field = item.with_context(|| format!("there is no structure {rust}"))?;
            found.enums.insert((*c).to_owned(), scope.convert(&field.ty)?);
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
            let (union, fields) = fields.with_context(|| format!("there is no structure {}", layout.rust))?;
            let record = Record { union, size: layout.size, align: layout.align, fields: Vec::new() };
            found.records.insert(layout.c.to_owned(), with_fields(record, layout.fields, fields, scope)?);
        }
        Ok(())
    }

    fn constants(&self, found: &mut Interface) -> Result<()> {
        for (c, file, name) in IN_SOURCES {
            let source = self.exports.iter().find(|(path, _)| path == Path::new(file));
            let (_, source) =
                source.with_context(|| format!("{file}, which is to hold {c}, does not exist"))?;
            let value =
                constant(&source.items, name).with_context(|| format!("{file} has no constant {name}"))?;
            found.constants.insert((*c).to_owned(), value);
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
    scope: &'a Scope,
    found: &'a mut Interface,
    trouble: Vec<String>,
}

impl Functions<'_> {
    /// Those of the lists, and those of plugins.
    fn listed(&mut self) -> Result<()> {
        for text in LISTED.into_iter().flatten() {
            let function: syn::ForeignItemFn = syn::parse_str(text).with_context(|| (*text).to_owned())?;
            self.add("urom-abi/src/host/functions.rs", &function.sig, false);
        }
        for (name, alias) in OF_PLUGINS {
            self.found.functions.insert((*name).to_owned(), self.scope.function_alias(alias)?);
        }
        Ok(())
    }

    /// Those that a file defines under their own names, or lists for a macro that does.
    fn exported(&mut self, path: &Path, items: &[Item]) {
        let file = path.display().to_string();
        for item in items {
            match item {
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
                Item::Macro(item) => {
                    if let Ok(List(list)) = item.mac.parse_body() {
                        list.iter().for_each(|function| self.add(&file, &function.sig, false));
                    }
                }
                _ => {}
            }
        }
    }

    /// A naked function hands its caller's arguments on as they are: those that C does not name, too.
    fn add(&mut self, file: &str, signature: &syn::Signature, variadic: bool) {
        let name = signature.ident.to_string();
        match self.scope.signature(signature) {
            Ok(mut converted) => {
                converted.variadic |= variadic;
                if self.found.functions.insert(name.clone(), converted).is_some() {
                    self.trouble.push(format!("{file}: {name} is defined twice"));
                }
            }
            Err(error) => self.trouble.push(format!("{file}: {name}: {error:#}")),
        }
    }
}

/// `fn name(argument: Type) -> Type;`, any number of times and nothing else.
struct List(Vec<syn::ForeignItemFn>);

impl Parse for List {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut list = Vec::new();
        while !input.is_empty() {
            list.push(input.parse()?);
        }
        Ok(Self(list))
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
    let text = fs::read_to_string(root.join(path)).with_context(|| format!("reading {}", path.display()))?;
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
