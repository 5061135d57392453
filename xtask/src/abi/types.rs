//! Rust's way to write a type, bindgen's included, as a [`Type`].

use std::collections::BTreeMap;

use anyhow::{Context, Result, bail, ensure};
use syn::{Expr, GenericArgument, Lit, PathArguments, ReturnType};

use super::model::{Signature, Type};

/// C's scalars as Rust spells them on this project's targets, and what each is. The others are
/// their own.
const SCALARS: [(&str, &str); 12] = [
    ("c_char", "char"),
    ("c_schar", "i8"),
    ("c_uchar", "u8"),
    ("c_short", "i16"),
    ("c_ushort", "u16"),
    ("c_int", "i32"),
    ("c_uint", "u32"),
    ("c_long", "i64"),
    ("c_ulong", "u64"),
    ("c_longlong", "i64"),
    ("c_ulonglong", "u64"),
    ("c_void", "void"),
];

/// Scalars that both languages call the same.
pub(crate) const PLAIN: [&str; 12] =
    ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize", "bool", "FILE"];

/// What names mean in a source.
#[derive(Clone, Debug, Default)]
pub(crate) struct Scope {
    /// `type NAME = ...;`
    pub(crate) aliases: BTreeMap<String, syn::Type>,
    /// `const NAME: ... = NUMBER;`, for the lengths of arrays.
    pub(crate) numbers: BTreeMap<String, usize>,
    /// What structures, unions and enums are called in C.
    pub(crate) c_names: BTreeMap<String, String>,
}

impl Scope {
    /// A type as a value, a field or an argument has it.
    pub(crate) fn convert(&self, ty: &syn::Type) -> Result<Type> {
        match ty {
            syn::Type::Ptr(pointer) => Ok(Type::Pointer {
                constant: matches!(pointer.mutability, syn::PointerMutability::Const(_)),
                to: Box::new(self.convert(&pointer.elem)?),
            }),
            syn::Type::Array(array) => Ok(Type::Array {
                of: Box::new(self.convert(&array.elem)?),
                len: self.number(&array.len)?,
            }),
            syn::Type::Paren(inner) => self.convert(&inner.elem),
            syn::Type::Group(inner) => self.convert(&inner.elem),
            syn::Type::Path(path) => {
                let last = path.path.segments.last().context("a path has a name")?;
                self.named(&last.ident.to_string(), &last.arguments)
            }
            syn::Type::FnPtr(_) => {
                bail!("a function pointer that cannot be NULL: C's can, so it is an Option here")
            }
            _ => bail!("a type that C does not have"),
        }
    }

    fn named(&self, name: &str, arguments: &PathArguments) -> Result<Type> {
        if name == "Option" {
            let PathArguments::AngleBracketed(inside) = arguments else {
                bail!("an Option of nothing")
            };
            let Some(GenericArgument::Type(inside)) = inside.args.first() else {
                bail!("an Option of nothing")
            };
            return Ok(Type::Function(Box::new(self.function(inside)?)));
        }
        ensure!(arguments.is_none(), "`{name}<..>`, which C does not have");
        if let Some(c_name) = self.c_names.get(name) {
            return Ok(Type::Name(c_name.clone()));
        }
        if let Some(alias) = self.aliases.get(name) {
            return self.convert(alias);
        }
        if let Some((_, scalar)) = SCALARS.iter().find(|(c, _)| *c == name) {
            return Ok(Type::Name((*scalar).to_owned()));
        }
        ensure!(PLAIN.contains(&name), "`{name}`, for which xtask/src/abi/names.rs has no C name");
        Ok(Type::Name(name.to_owned()))
    }

    /// What is inside of an `Option`: a function pointer, or an alias of one.
    fn function(&self, ty: &syn::Type) -> Result<Signature> {
        match ty {
            syn::Type::FnPtr(function) => {
                check_abi(function.abi.as_ref())?;
                let arguments = function.inputs.iter().map(|input| self.convert(&input.ty));
                Ok(Signature {
                    arguments: arguments.collect::<Result<_>>()?,
                    variadic: function.variadic.is_some(),
                    returns: self.returns(&function.output)?,
                })
            }
            syn::Type::Path(path) => {
                let name =
                    path.path.segments.last().context("a path has a name")?.ident.to_string();
                let alias =
                    self.aliases.get(&name).with_context(|| format!("an Option of `{name}`"))?;
                self.function(alias)
            }
            _ => bail!("an Option of something else than a function"),
        }
    }

    /// The function type that an alias of this name stands for.
    pub(crate) fn function_alias(&self, name: &str) -> Result<Signature> {
        self.function(self.aliases.get(name).with_context(|| format!("there is no type {name}"))?)
    }

    /// A declared or defined function.
    pub(crate) fn signature(&self, signature: &syn::Signature) -> Result<Signature> {
        let mut arguments = Vec::new();
        for input in &signature.inputs {
            let syn::FnArg::Typed(input) = input else { bail!("a method") };
            arguments.push(self.convert(&input.ty)?);
        }
        Ok(Signature {
            arguments,
            variadic: signature.variadic.is_some(),
            returns: self.returns(&signature.output)?,
        })
    }

    fn returns(&self, output: &ReturnType) -> Result<Option<Type>> {
        match output {
            ReturnType::Default => Ok(None),
            ReturnType::Type(_, ty) => self.convert(ty).map(Some),
        }
    }

    fn number(&self, expression: &Expr) -> Result<usize> {
        match expression {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Int(number) => Ok(number.base10_parse()?),
                _ => bail!("an array's length that is no number"),
            },
            Expr::Path(path) => {
                let name =
                    path.path.segments.last().context("a path has a name")?.ident.to_string();
                self.numbers
                    .get(&name)
                    .copied()
                    .with_context(|| format!("{name} is no constant that is a number"))
            }
            _ => bail!("an array's length that is computed"),
        }
    }
}

/// Only C's own calling convention will do.
pub(crate) fn check_abi(abi: Option<&syn::Abi>) -> Result<()> {
    let name = abi.and_then(|abi| abi.name.as_ref()).map(syn::LitStr::value);
    ensure!(name.as_deref() == Some("C"), "its calling convention is not extern \"C\"");
    Ok(())
}
