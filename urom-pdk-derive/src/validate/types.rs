//! What the spelling of a type tells about it.

use syn::Type;

use crate::model::{last_segment, only_type, plainly};
use crate::names;

/// Why a type can never travel, and what to use in its place.
pub(crate) struct Unsafe<'a> {
    /// The part of the type that cannot.
    pub(crate) culprit: &'a Type,
    pub(crate) why: &'static str,
    pub(crate) instead: String,
}

/// Why a type can never be a plain field, when its spelling already tells. `is_command` says on
/// which side it is.
pub(crate) fn unsafe_type(ty: &Type, is_command: bool) -> Option<Unsafe<'_>> {
    meaningless(ty).or_else(|| owned(ty, is_command))
}

/// A type that means nothing elsewhere. Not all of these can be a structure's field as they are.
pub(crate) fn meaningless(ty: &Type) -> Option<Unsafe<'_>> {
    const HANDLE: &str = "a `u64` that names an entry of a table";
    let found = |why, instead: &str| Some(Unsafe { culprit: ty, why, instead: instead.to_owned() });
    match ty {
        Type::Array(array) => meaningless(&array.elem),
        Type::Group(group) => meaningless(&group.elem),
        Type::Paren(paren) => meaningless(&paren.elem),
        Type::Reference(_) | Type::Ptr(_) => {
            found("an address of one process means nothing in another", HANDLE)
        }
        Type::FnPtr(_) => found("code of one process is not there in another", HANDLE),
        Type::Slice(_) => found("its length is not known beforehand", "an array of a fixed length"),
        Type::Path(path) if path.qself.is_none() => {
            match path.path.segments.last()?.ident.to_string().as_str() {
                "usize" => found("its size depends on the machine", "`u64`"),
                "isize" => found("its size depends on the machine", "`i64`"),
                "str" => found("its length is not known beforehand", "an array of bytes"),
                _ => None,
            }
        }
        _ => None,
    }
}

/// A type of which Rust does not say how it lies, or that has its data elsewhere.
fn owned(ty: &Type, is_command: bool) -> Option<Unsafe<'_>> {
    let found = |why, instead: &str| Some(Unsafe { culprit: ty, why, instead: instead.to_owned() });
    match ty {
        Type::Array(array) => owned(&array.elem, is_command),
        Type::Group(group) => owned(&group.elem, is_command),
        Type::Paren(paren) => owned(&paren.elem, is_command),
        Type::Tuple(tuple) if !tuple.elems.is_empty() => {
            found("Rust does not say where its members lie", "a `#[repr(C)]` structure")
        }
        Type::Path(path)
            if path.qself.is_none() && path.path.segments.last()?.ident == "Option" =>
        {
            found(
                "Rust does not say which of its bytes tell whether it is there",
                "the type itself and a `bool` beside it, or an `Option` of a payload, with `#[urom(inline)]`",
            )
        }
        _ => {
            let instead = format!("`#[urom(inline)]` and {}", payload_for(ty, is_command)?);
            found("it owns memory of one process", &instead)
        }
    }
}

/// The payload that holds what a type of the standard library does: `&'a str` for `String`.
pub(crate) fn payload_for(ty: &Type, is_command: bool) -> Option<String> {
    const BYTES: (&str, &str) = ("`&'a [u8]`", "`Payload`");
    const LISTS: [&str; 8] =
        ["Vec", "VecDeque", "LinkedList", "HashSet", "BTreeSet", "Box", "Rc", "Arc"];
    let last = last_segment(plainly(ty))?;
    let name = last.ident.to_string();
    let (borrowed, owned) = match name.as_str() {
        "String" => (
            "`&'a str`".to_owned(),
            "`Payload`, whose bytes `std::str::from_utf8` reads".to_owned(),
        ),
        "CString" | "OsString" | "PathBuf" | "Bytes" | "BytesMut" => {
            (BYTES.0.to_owned(), BYTES.1.to_owned())
        }
        "HashMap" | "BTreeMap" => {
            let text = |list: &str| format!("{list} of a `#[repr(C)]` structure for each entry");
            (text("`Elements<'a, T>`"), text("`Payload<T>`"))
        }
        _ if LISTS.contains(&name.as_str()) => match only_type(last).map(plainly) {
            Some(Type::Slice(slice)) => list_of(&slice.elem, BYTES),
            Some(element) if last_segment(element).is_some_and(|last| last.ident == "str") => {
                ("`&'a str`".to_owned(), BYTES.1.to_owned())
            }
            // What a box has in it is one value, and no list.
            Some(_) if matches!(name.as_str(), "Box" | "Rc" | "Arc") => return None,
            Some(element) => list_of(element, BYTES),
            None => return None,
        },
        _ => return None,
    };
    Some(if is_command { borrowed } else { owned })
}

fn list_of(element: &Type, bytes: (&str, &str)) -> (String, String) {
    match names::written(element).as_str() {
        "u8" => (bytes.0.to_owned(), bytes.1.to_owned()),
        element => (format!("`Elements<'a, {element}>`"), format!("`Payload<{element}>`")),
    }
}

/// Why a type that can be a field cannot be an element: not any bytes are a value of it.
pub(crate) fn unsafe_element(ty: &Type) -> Option<Unsafe<'_>> {
    let (why, instead) = match last_segment(plainly(ty))?.ident.to_string().as_str() {
        "bool" => ("most bytes are no `bool` and elements are not checked", "`u8`"),
        "char" => (
            "most numbers are no `char` and elements are not checked",
            "`u32`, or `&'a str` for text",
        ),
        _ => return None,
    };
    Some(Unsafe { culprit: ty, why, instead: instead.to_owned() })
}

/// Whether a type is a primitive number or an array of them: any bytes are a value.
pub(crate) fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64"];
    is_one_of(ty, &NUMBERS)
}

/// Whether a type is primitive or an array of such, which can do everything that structures can
/// derive.
pub(crate) fn is_primitive(ty: &Type) -> bool {
    is_number(ty) || is_one_of(ty, &["bool", "char"])
}

fn is_one_of(ty: &Type, names: &[&str]) -> bool {
    match ty {
        Type::Array(array) => is_one_of(&array.elem, names),
        Type::Group(group) => is_one_of(&group.elem, names),
        Type::Paren(paren) => is_one_of(&paren.elem, names),
        Type::Path(path) => {
            path.path.get_ident().is_some_and(|ident| names.iter().any(|name| ident == name))
        }
        _ => false,
    }
}
