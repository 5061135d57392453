//! The C headers as clang understands them: bindgen writes them down in Rust, and that is read back
//! here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use syn::{Expr, ImplItem, Item, Lit};

use super::model::{Field, Interface, Type};
use super::types::{PLAIN, Scope, check_abi};

/// Reads all headers of a directory.
pub(crate) fn read(directory: &Path) -> Result<Interface> {
    let bindings = bindings(directory)?;
    let file = syn::parse_file(&bindings).context("bindgen's output is no Rust")?;
    Reader::new(&file.items)?.interface(&file.items)
}

/// What bindgen makes of them.
fn bindings(directory: &Path) -> Result<String> {
    let mut headers = Vec::new();
    for entry in fs::read_dir(directory)? {
        let name = entry?.file_name();
        headers.push(name.to_str().context("a header whose name is not UTF-8")?.to_owned());
    }
    headers.sort_unstable();
    ensure!(!headers.is_empty(), "{} holds no headers", directory.display());
    let text: String = headers.iter().map(|name| format!("#include <{name}>\n")).collect();
    let builder = bindgen::Builder::default()
        .header_contents("all.h", &text)
        .clang_args(["-std=c11", "-DDOCA_ALLOW_EXPERIMENTAL_API"])
        .clang_arg(format!("-I{}", directory.display()))
        .allowlist_file(format!("{}/.*", bindgen_literal(&directory.display().to_string())))
        .blocklist_type("FILE|_IO_.*|__.*")
        // Each enum a type of its own, and no constant under two names.
        .default_enum_style(bindgen::EnumVariation::NewType {
            is_bitfield: false,
            is_global: false,
        })
        .fit_macro_constants(false)
        .generate_comments(false)
        .layout_tests(true)
        .formatter(bindgen::Formatter::None);
    // bindgen panics, rather than fails, when it cannot load libclang.
    match catch_unwind(AssertUnwindSafe(|| builder.generate())) {
        Ok(bindings) => Ok(bindings.context("bindgen does not take the C headers")?.to_string()),
        Err(_) => bail!("bindgen gave up: is libclang there? Debian: libclang-14-dev"),
    }
}

/// A path as a regular expression that matches nothing else.
fn bindgen_literal(path: &str) -> String {
    path.chars().fold(String::new(), |mut out, c| {
        if !c.is_alphanumeric() && c != '/' && c != '_' {
            out.push('\\');
        }
        out.push(c);
        out
    })
}

struct Reader {
    scope: Scope,
    found: Interface,
}

impl Reader {
    /// Learns all names, so that they can be used before they are declared.
    fn new(items: &[Item]) -> Result<Self> {
        let mut scope = Scope::default();
        for item in items {
            let name = match item {
                Item::Struct(item) => item.ident.to_string(),
                Item::Union(item) => item.ident.to_string(),
                Item::Type(item) => {
                    scope.aliases.insert(item.ident.to_string(), (*item.ty).clone());
                    continue;
                }
                // A typedef of an enum.
                Item::Use(item) => {
                    let (old, new) =
                        renaming(&item.tree).context("a `use` that renames nothing")?;
                    scope.aliases.insert(new, syn::parse_str(&old)?);
                    continue;
                }
                _ => continue,
            };
            scope.c_names.insert(name.clone(), name);
        }
        Ok(Self { scope, found: Interface::default() })
    }

    fn interface(mut self, items: &[Item]) -> Result<Interface> {
        for item in items {
            match item {
                Item::ForeignMod(block) => self.functions(block)?,
                Item::Struct(item) => self.structure(item)?,
                Item::Union(item) => {
                    let name = item.ident.to_string();
                    self.record(&name, true, &item.fields)?;
                }
                Item::Impl(item) if item.trait_.is_none() => self.values(item)?,
                Item::Const(item) => self.constant(item)?,
                _ => {}
            }
        }
        Ok(self.found)
    }

    fn functions(&mut self, block: &syn::ItemForeignMod) -> Result<()> {
        check_abi(Some(&block.abi))?;
        for item in &block.items {
            let syn::ForeignItem::Fn(function) = item else {
                bail!("the headers declare something that is no function")
            };
            let name = function.sig.ident.to_string();
            let signature = self.scope.signature(&function.sig).with_context(|| name.clone())?;
            self.found.functions.insert(name, signature);
        }
        Ok(())
    }

    fn structure(&mut self, item: &syn::ItemStruct) -> Result<()> {
        let name = item.ident.to_string();
        match &item.fields {
            _ if is_bindgens_own(&name) => {}
            syn::Fields::Unnamed(fields) => {
                let value = fields.unnamed.first().context("an enum without a type")?;
                self.found.enums.insert(name, self.scope.convert(&value.ty)?);
            }
            syn::Fields::Named(fields)
                if fields
                    .named
                    .iter()
                    .all(|f| f.ident.as_ref().is_some_and(|i| i == "_unused")) =>
            {
                self.found.opaque.insert(name);
            }
            syn::Fields::Named(fields) => self.record(&name, false, fields)?,
            syn::Fields::Unit => bail!("bindgen wrote {name} in a way that is not known here"),
        }
        Ok(())
    }

    fn record(&mut self, name: &str, union: bool, fields: &syn::FieldsNamed) -> Result<()> {
        let record = self.found.records.entry(name.to_owned()).or_default();
        record.union = union;
        for field in &fields.named {
            let own = field.ident.as_ref().context("a field without a name")?.to_string();
            let ty = match flexible(&field.ty) {
                Some(of) => Ok(Type::Array { of: Box::new(self.scope.convert(of)?), len: 0 }),
                None => self.scope.convert(&field.ty),
            };
            let ty = ty.with_context(|| format!("{name}::{own}"))?;
            record.fields.push(Field { name: c_field(&own), ty, offset: usize::MAX });
        }
        Ok(())
    }

    /// The values of an enum.
    fn values(&mut self, item: &syn::ItemImpl) -> Result<()> {
        for value in &item.items {
            let ImplItem::Const(value) = value else { continue };
            let Expr::Call(call) = &value.expr else { continue };
            let number =
                call.args.first().and_then(literal).context("an enum's value that is no number")?;
            self.found.constants.insert(value.ident.to_string(), number);
        }
        Ok(())
    }

    /// A macro with a value; or, without a name, what bindgen asserts of a structure.
    fn constant(&mut self, item: &syn::ItemConst) -> Result<()> {
        if item.ident != "_" {
            let value = literal(&item.expr)
                .with_context(|| format!("{} has no plain value", item.ident))?;
            self.found.constants.insert(item.ident.to_string(), value);
            return Ok(());
        }
        let Expr::Block(block) = &*item.expr else {
            bail!("bindgen's layout tests have another form")
        };
        for statement in &block.block.stmts {
            // ["what of which"][the compiler's number - bindgen's number];
            let syn::Stmt::Expr(Expr::Index(test), _) = statement else {
                bail!("a layout test has another form")
            };
            let (Expr::Array(subject), Expr::Binary(difference)) = (&*test.expr, &*test.index)
            else {
                bail!("a layout test has another form")
            };
            let subject = subject
                .elems
                .first()
                .and_then(literal)
                .context("a layout test without a subject")?;
            let number = literal(&difference.right).context("a layout test without a number")?;
            self.layout(subject.trim_matches('"'), number.parse()?)?;
        }
        Ok(())
    }

    fn layout(&mut self, subject: &str, number: usize) -> Result<()> {
        let (what, of) = match subject.split_once(" of ") {
            Some((what, of)) => (what, of.trim_start_matches("field: ")),
            None => bail!("a layout test of `{subject}`"),
        };
        let (name, field) = match of.split_once("::") {
            Some((name, field)) => (name, Some(field)),
            None => (of, None),
        };
        let Some(record) = self.found.records.get_mut(name) else { return Ok(()) };
        match (what, field) {
            ("Size", None) => record.size = number,
            ("Alignment", None) => record.align = number,
            ("Offset", Some(field)) => {
                let field = c_field(field);
                let found = record.fields.iter_mut().find(|candidate| candidate.name == field);
                found.with_context(|| format!("a layout test of `{subject}`"))?.offset = number;
            }
            _ => bail!("a layout test of `{subject}`"),
        }
        Ok(())
    }
}

/// `use self::OLD as NEW`.
fn renaming(tree: &syn::UseTree) -> Option<(String, String)> {
    match tree {
        syn::UseTree::Path(path) => renaming(&path.tree),
        syn::UseTree::Rename(renaming) => {
            Some((renaming.ident.to_string(), renaming.rename.to_string()))
        }
        _ => None,
    }
}

fn is_bindgens_own(name: &str) -> bool {
    name.starts_with("__Incomplete")
}

/// What `type name[];` at the end of a structure is made of.
fn flexible(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(path) = ty else { return None };
    let last =
        path.path.segments.last().filter(|segment| is_bindgens_own(&segment.ident.to_string()))?;
    let syn::PathArguments::AngleBracketed(inside) = &last.arguments else { return None };
    match inside.args.first()? {
        syn::GenericArgument::Type(ty) => Some(ty),
        _ => None,
    }
}

/// bindgen appends `_` to a name that is a keyword or a scalar in Rust.
fn c_field(name: &str) -> String {
    match name.strip_suffix('_') {
        Some(stem) if PLAIN.contains(&stem) || syn::parse_str::<syn::Ident>(stem).is_err() => {
            stem.to_owned()
        }
        _ => name.to_owned(),
    }
}

/// A number in decimal, or a text in quotes.
pub(crate) fn literal(expression: &Expr) -> Option<String> {
    match expression {
        Expr::Lit(expression) => match &expression.lit {
            Lit::Int(number) => Some(number.base10_digits().to_owned()),
            Lit::Str(text) => Some(format!("{:?}", text.value())),
            Lit::CStr(text) => Some(format!("{:?}", text.value().to_str().ok()?)),
            Lit::ByteStr(bytes) => {
                let bytes = bytes.value();
                let text = std::str::from_utf8(bytes.strip_suffix(&[0]).unwrap_or(&bytes)).ok()?;
                Some(format!("{text:?}"))
            }
            _ => None,
        },
        Expr::Unary(negative) if matches!(negative.op, syn::UnOp::Neg(_)) => {
            Some(format!("-{}", literal(&negative.expr)?))
        }
        Expr::Group(inner) => literal(&inner.expr),
        Expr::Paren(inner) => literal(&inner.expr),
        _ => None,
    }
}
