//! What the spelling of a type tells about it.

use syn::Type;

/// Why a type can never travel, when its spelling already tells, and what to use in its place.
pub(crate) fn unsafe_type(ty: &Type) -> Option<(&Type, &'static str, &'static str)> {
    const HANDLE: &str = "a `u64` that names an entry of a table";
    match ty {
        Type::Array(array) => unsafe_type(&array.elem),
        Type::Group(group) => unsafe_type(&group.elem),
        Type::Paren(paren) => unsafe_type(&paren.elem),
        Type::Reference(_) | Type::Ptr(_) => {
            Some((ty, "an address of one process means nothing in another", HANDLE))
        }
        Type::FnPtr(_) => Some((ty, "code of one process is not there in another", HANDLE)),
        Type::Slice(_) => Some((ty, "its length is not known beforehand", "an array of a fixed length")),
        Type::Path(path) if path.qself.is_none() => {
            let name = path.path.segments.last()?.ident.to_string();
            let (why, instead) = match name.as_str() {
                "usize" => ("its size depends on the machine", "`u64`"),
                "isize" => ("its size depends on the machine", "`i64`"),
                "bool" => ("most bytes are no `bool`", "`u8`"),
                "char" => ("most numbers are no `char`", "`u32`"),
                "str" => ("its length is not known beforehand", "an array of bytes"),
                _ => return None,
            };
            Some((ty, why, instead))
        }
        _ => None,
    }
}

/// Whether a type is a primitive number or an array of them, which can do everything that structures can derive.
pub(crate) fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64"];
    match ty {
        Type::Array(array) => is_number(&array.elem),
        Type::Group(group) => is_number(&group.elem),
        Type::Paren(paren) => is_number(&paren.elem),
        Type::Path(path) => {
            path.path.get_ident().is_some_and(|ident| NUMBERS.iter().any(|name| ident == name))
        }
        _ => false,
    }
}
