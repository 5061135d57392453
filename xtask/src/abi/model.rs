//! An interface, whichever language it was read from: everything goes by its C name.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// A type as it appears in a signature or a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Type {
    /// A scalar under Rust's name (`u32`), or a structure, union or enum under C's, without the
    /// word.
    Name(String),
    /// A pointer to something constant, or not.
    Pointer { constant: bool, to: Box<Type> },
    /// A pointer to a function, which may be NULL.
    Function(Box<Signature>),
    /// An array inside a structure.
    Array { of: Box<Type>, len: usize },
}

/// What a function takes and gives.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Signature {
    pub(crate) arguments: Vec<Type>,
    /// Whether more arguments may follow.
    pub(crate) variadic: bool,
    /// `None` for `void`.
    pub(crate) returns: Option<Type>,
}

/// A member of a structure or union.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Field {
    pub(crate) name: String,
    pub(crate) ty: Type,
    pub(crate) offset: usize,
}

/// A structure or union whose members are known.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Record {
    pub(crate) union: bool,
    pub(crate) size: usize,
    pub(crate) align: usize,
    pub(crate) fields: Vec<Field>,
}

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Interface {
    pub(crate) functions: BTreeMap<String, Signature>,
    pub(crate) records: BTreeMap<String, Record>,
    /// Structures of which only pointers are handed around.
    pub(crate) opaque: BTreeSet<String>,
    /// Enums, and the integer each of them is.
    pub(crate) enums: BTreeMap<String, Type>,
    /// Values of enums, and other constants: numbers in decimal, texts in quotes.
    pub(crate) constants: BTreeMap<String, String>,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Type::Name(name) => f.write_str(name),
            Type::Pointer { constant: true, to } => write!(f, "*const {to}"),
            Type::Pointer { constant: false, to } => write!(f, "*mut {to}"),
            Type::Function(signature) => write!(f, "fn{signature}"),
            Type::Array { of, len } => write!(f, "[{of}; {len}]"),
        }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments: Vec<String> = self.arguments.iter().map(Type::to_string).collect();
        if self.variadic {
            arguments.push("...".to_owned());
        }
        write!(f, "({})", arguments.join(", "))?;
        match &self.returns {
            Some(ty) => write!(f, " -> {ty}"),
            None => Ok(()),
        }
    }
}
