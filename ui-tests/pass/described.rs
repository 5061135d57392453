//! Plain structures that describe themselves, in any module.

#![deny(warnings, missing_docs, unused_qualifications)]
#![deny(clippy::all, clippy::pedantic)]
#![no_implicit_prelude]

use ::core::assert_eq;
use ::urom_abi::describe::{Described as _, Struct, Type};

/// Two numbers.
///
/// In one structure.
#[repr(C)]
#[derive(::core::fmt::Debug, ::urom_abi::Described)]
pub struct Pair {
    /// The first.
    pub r#type: u32,
    #[doc = ::core::concat!(" The", " second.")]
    pub second: i16,
}

/// A number with a name.
#[repr(transparent)]
#[derive(::core::fmt::Debug, ::urom_abi::Described)]
pub struct Status(pub i8);

/// Not described.
#[derive(::core::fmt::Debug)]
pub struct Unknown(pub u16);

/// Everything.
#[repr(C, packed)]
#[derive(::urom_abi::Described)]
#[urom(crate = kit::abi)]
pub struct Whole(u8, [Pair; Whole::PAIRS], Status, [[Unknown; 2]; 3], u128);

impl Whole {
    const PAIRS: usize = 2;
}

/// The kit under another name.
mod kit {
    pub(crate) use ::urom_abi as abi;
}

#[allow(dead_code, reason = "they are in the way")]
mod shadows {
    pub(crate) struct Struct;
    pub(crate) struct Type;
    pub(crate) struct Probe;
    pub(crate) struct StructField;

    #[repr(C)]
    #[derive(::urom_abi::Described)]
    pub(crate) struct Shadowed {
        field: u8,
    }
}

fn structure(ty: &Type) -> &'static Struct {
    match *ty {
        Type::Struct(of) => of,
        _ => ::std::panic!("{ty:?} is not a structure"),
    }
}

fn main() {
    let pair = structure(&Pair::TYPE);
    assert_eq!((pair.name, pair.docs), ("Pair", " Two numbers.\n\n In one structure."));
    assert_eq!((pair.size, pair.align), (8, 4));
    assert_eq!((pair.fields[0].name, pair.fields[0].docs, pair.fields[0].offset), ("type", " The first.", 0));
    assert_eq!((pair.fields[1].name, pair.fields[1].docs, pair.fields[1].offset), ("second", " The second.", 4));
    assert_eq!(pair.fields[1].ty, i16::TYPE);

    assert_eq!(Status::TYPE, i8::TYPE);

    let whole = structure(&Whole::TYPE);
    assert_eq!((whole.size, whole.align, whole.fields.len()), (46, 1, 5));
    assert_eq!(whole.fields[1].ty, <[Pair; 2]>::TYPE);
    assert_eq!((whole.fields[1].name, whole.fields[1].offset), ("1", 1));
    assert_eq!(whole.fields[2].ty, i8::TYPE);
    assert_eq!(whole.fields[3].offset, 18);
    let Type::Array { of: &Type::Array { of, len: 2 }, len: 3 } = whole.fields[3].ty else {
        ::std::panic!("{:?} is not an array of arrays", whole.fields[3].ty);
    };
    assert_eq!(*of, Type::Opaque { name: "Unknown", size: 2, align: 2 });
    assert_eq!((whole.fields[4].offset, whole.fields[4].ty.size()), (30, 16));

    assert_eq!(structure(&shadows::Shadowed::TYPE).name, "Shadowed");
}
