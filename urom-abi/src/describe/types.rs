//! The types of fields and elements, and the lookup of a Rust type's description.

use std::fmt;
use std::marker::PhantomData;

/// A type on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An integer.
    Int {
        /// 1, 2, 4 or 8.
        bytes: usize,
        /// Whether it is signed, in two's complement.
        signed: bool,
    },
    /// An IEEE 754 number.
    Float {
        /// 4 or 8.
        bytes: usize,
    },
    /// One byte: 0 for `false`, 1 for `true`; other values are invalid.
    Bool,
    /// A Unicode scalar value in four bytes.
    Char,
    /// A byte of UTF-8 text. Only payloads have such elements.
    Utf8,
    /// An integer with named values.
    Enum(&'static Enum),
    /// Elements of one type, without padding between them.
    Array {
        /// The element.
        of: &'static Type,
        /// The number of elements.
        len: usize,
    },
    /// A structure with described fields.
    Struct(&'static Struct),
    /// Bytes of a type without a description.
    Opaque {
        /// The type, as written in the definition.
        name: &'static str,
        /// Its size in bytes.
        size: usize,
        /// Its alignment in bytes.
        align: usize,
    },
}

impl Type {
    /// The size in bytes.
    #[must_use]
    pub const fn size(&self) -> usize {
        match *self {
            Type::Int { bytes, .. } | Type::Float { bytes } => bytes,
            Type::Bool | Type::Utf8 => 1,
            Type::Char => 4,
            Type::Enum(of) => of.bytes,
            Type::Array { of, len } => of.size().saturating_mul(len),
            Type::Struct(of) => of.size,
            Type::Opaque { size, .. } => size,
        }
    }

    /// The alignment in bytes.
    #[must_use]
    pub const fn align(&self) -> usize {
        match *self {
            Type::Int { .. }
            | Type::Float { .. }
            | Type::Bool
            | Type::Char
            | Type::Utf8
            | Type::Enum(_) => self.size(),
            Type::Array { of, .. } => of.align(),
            Type::Struct(of) => of.align,
            Type::Opaque { align, .. } => align,
        }
    }

    pub(super) fn element(&self) -> &Type {
        if let Type::Array { of, .. } = self { of.element() } else { self }
    }
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Type::Int { bytes, signed: false } => write!(f, "u{}", 8 * bytes),
            Type::Int { bytes, signed: true } => write!(f, "i{}", 8 * bytes),
            Type::Float { bytes } => write!(f, "f{}", 8 * bytes),
            Type::Array { of, len } => write!(f, "[{of}; {len}]"),
            Type::Bool => f.write_str("bool"),
            Type::Char => f.write_str("char"),
            Type::Utf8 => f.write_str("str"),
            Type::Enum(of) => f.write_str(of.name),
            Type::Struct(of) => f.write_str(of.name),
            Type::Opaque { name, .. } => f.write_str(name),
        }
    }
}

/// An enum without fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Enum {
    /// The name in Rust, without a path.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// Its size in bytes: 1, 2, 4 or 8.
    pub bytes: usize,
    /// Whether its values are signed, in two's complement.
    pub signed: bool,
    /// Its valid values, in the order of the definition.
    pub values: &'static [EnumValue],
}

/// A value of an [`Enum`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EnumValue {
    /// The name in Rust.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// Its number.
    pub value: i128,
}

/// A plain structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Struct {
    /// The name in Rust, without a path.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// Its size in bytes.
    pub size: usize,
    /// Its alignment in bytes.
    pub align: usize,
    /// Its fields, in order.
    pub fields: &'static [StructField],
}

/// A field of a plain structure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StructField {
    /// The name in Rust; a number for a tuple field.
    pub name: &'static str,
    /// Its documentation.
    pub docs: &'static str,
    /// Its offset in the structure.
    pub offset: usize,
    /// Its type.
    pub ty: Type,
}

/// A type with a description: numbers, `bool`, `char`, arrays, and types that derive it.
#[diagnostic::on_unimplemented(
    message = "`{Self}` lacks a description",
    note = "derive `urom_abi::Described` for it; a message's field does without, its bytes are opaque then"
)]
pub trait Described {
    /// The type's description.
    const TYPE: Type;
}

macro_rules! numbers {
    ($($($number:ty)* => $ty:expr;)*) => {$($(
        impl Described for $number {
            const TYPE: Type = $ty;
        }
    )*)*};
}

numbers! {
    u8 u16 u32 u64 usize => Type::Int { bytes: size_of::<Self>(), signed: false };
    i8 i16 i32 i64 isize => Type::Int { bytes: size_of::<Self>(), signed: true };
    f32 f64 => Type::Float { bytes: size_of::<Self>() };
    bool => Type::Bool;
    char => Type::Char;
}

impl<T: Described, const LEN: usize> Described for [T; LEN] {
    const TYPE: Type = Type::Array { of: &T::TYPE, len: LEN };
}

/// `Probe::<T>::FOUND` with [`NotDescribed`] in scope is the description of a [`Described`] type,
/// else nothing: an inherent constant has priority over a trait's. `T` must be a concrete type.
#[doc(hidden)]
#[derive(Debug)]
pub struct Probe<T>(PhantomData<T>);

#[doc(hidden)]
#[derive(Debug)]
pub struct FoundType<T> {
    ty: Option<Type>,
    of: PhantomData<T>,
}

impl<T> FoundType<T> {
    pub(super) const fn ty(&self) -> Option<Type> {
        self.ty
    }
}

impl<T: Described> Probe<T> {
    pub const FOUND: FoundType<T> = FoundType { ty: Some(T::TYPE), of: PhantomData };
}

#[doc(hidden)]
pub trait NotDescribed {
    type Of;
    const FOUND: FoundType<Self::Of> = FoundType { ty: None, of: PhantomData };
}

impl<T> NotDescribed for Probe<T> {
    type Of = T;
}

#[cfg(test)]
mod tests {
    use super::super::build::ty;
    use super::*;

    struct Unknown(#[expect(dead_code, reason = "only its size counts")] [u16; 3]);

    macro_rules! type_of {
        ($ty:ty) => {{
            const FOUND: Type = ty(<Probe<$ty>>::FOUND, stringify!($ty));
            FOUND
        }};
    }

    #[test]
    fn numbers_have_the_size_and_alignment_that_rust_gives_them() {
        macro_rules! check {
            ($($ty:ty)*) => {$(
                assert_eq!(<$ty>::TYPE.size(), size_of::<$ty>(), stringify!($ty));
                assert_eq!(<$ty>::TYPE.align(), align_of::<$ty>(), stringify!($ty));
            )*};
        }
        check!(u8 u16 u32 u64 usize i8 i16 i32 i64 isize f32 f64 bool char [u16; 3] [[f64; 2]; 0]);
    }

    #[test]
    fn types_have_the_names_of_rust() {
        assert_eq!(<[i32; 3]>::TYPE.to_string(), "[i32; 3]");
        assert_eq!([u8::TYPE, f64::TYPE].map(|ty| ty.to_string()), ["u8", "f64"]);
        assert_eq!(type_of!([Unknown; 2]).to_string(), "[Unknown; 2]");
    }

    #[test]
    fn a_type_is_opaque_only_when_it_has_no_description() {
        assert_eq!(type_of!(u32), u32::TYPE);
        assert_eq!(type_of!([f32; 2]), <[f32; 2]>::TYPE);
        assert_eq!(type_of!(Unknown), Type::Opaque { name: "Unknown", size: 6, align: 2 });
        let pair = Type::Opaque { name: "[Unknown; 2]", size: 12, align: 2 };
        assert_eq!(type_of!([Unknown; 2]), pair);
    }
}
