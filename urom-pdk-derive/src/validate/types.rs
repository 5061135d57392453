//! Recognises unsuitable types by their spelling.

use syn::Type;

use crate::model::{last_segment, only_type, plainly};
use crate::names;

pub(crate) struct Unsafe<'a> {
    pub(crate) culprit: &'a Type,
    pub(crate) why: &'static str,
    pub(crate) instead: String,
}

impl Unsafe<'_> {
    /// Returns whether the type cannot even be a structure's field: it lacks a lifetime or a size.
    pub(crate) fn is_no_field(&self) -> bool {
        matches!(self.culprit, Type::Reference(_) | Type::Slice(_))
            || names::written(self.culprit) == "str"
    }
}

pub(crate) fn unsafe_type(ty: &Type, is_command: bool) -> Option<Unsafe<'_>> {
    const HANDLE: &str = "a `u64` that names an entry of a table";
    let ty = innermost(ty);
    let name = last_segment(ty).map(|last| last.ident.to_string()).unwrap_or_default();
    let (why, instead) = match (ty, name.as_str()) {
        (Type::Reference(_) | Type::Ptr(_), _) => {
            ("an address of one process means nothing in another", HANDLE)
        }
        (Type::FnPtr(_), _) => ("code of one process is not there in another", HANDLE),
        (Type::Slice(_), _) => ("its length is not known beforehand", "an array of a fixed length"),
        (Type::Tuple(tuple), _) if !tuple.elems.is_empty() => {
            ("Rust does not say where its members lie", "a `#[repr(C)]` structure")
        }
        (_, "usize") => ("its size depends on the machine", "`u64`"),
        (_, "isize") => ("its size depends on the machine", "`i64`"),
        (_, "str") => ("its length is not known beforehand", "an array of bytes"),
        (_, "Option") => (
            "Rust does not say which of its bytes tell whether it is there",
            "the type itself and a `bool` beside it, or an `Option` of a payload, with `#[urom(inline)]`",
        ),
        _ => {
            let instead = format!("`#[urom(inline)]` and {}", payload_for(ty, is_command)?);
            return Some(Unsafe { culprit: ty, why: "it owns memory of one process", instead });
        }
    };
    Some(Unsafe { culprit: ty, why, instead: instead.to_owned() })
}

/// Returns the payload equivalent of a standard type: `&'a str` for `String`.
pub(crate) fn payload_for(ty: &Type, is_command: bool) -> Option<String> {
    let last = last_segment(plainly(ty))?;
    let (borrowed, owned) = match (last.ident.to_string().as_str(), only_type(last).map(plainly)) {
        ("String", _) => ("`&'a str`", "`Payload`, whose bytes `std::str::from_utf8` reads"),
        ("CString" | "OsString" | "PathBuf" | "Bytes" | "BytesMut", _) => BYTES,
        ("HashMap" | "BTreeMap", _) => {
            let list = if is_command { "`Elements<'a, T>`" } else { "`Payload<T>`" };
            return Some(format!("{list} of a `#[repr(C)]` structure for each entry"));
        }
        (
            name @ ("Vec" | "VecDeque" | "LinkedList" | "HashSet" | "BTreeSet" | "Box" | "Rc"
            | "Arc"),
            Some(element),
        ) => match element {
            Type::Slice(slice) => return Some(list_of(&slice.elem, is_command)),
            _ if last_segment(element).is_some_and(|last| last.ident == "str") => {
                ("`&'a str`", BYTES.1)
            }
            _ if matches!(name, "Box" | "Rc" | "Arc") => return None,
            _ => return Some(list_of(element, is_command)),
        },
        _ => return None,
    };
    Some(if is_command { borrowed } else { owned }.to_owned())
}

const BYTES: (&str, &str) = ("`&'a [u8]`", "`Payload`");

fn list_of(element: &Type, is_command: bool) -> String {
    match (names::written(element).as_str(), is_command) {
        ("u8", true) => BYTES.0.to_owned(),
        ("u8", false) => BYTES.1.to_owned(),
        (element, true) => format!("`Elements<'a, {element}>`"),
        (element, false) => format!("`Payload<{element}>`"),
    }
}

/// Returns why a field type cannot be an element: not all bytes are valid values.
pub(crate) fn unsafe_element(ty: &Type) -> Option<Unsafe<'_>> {
    let (why, instead) = match last_segment(plainly(ty))?.ident.to_string().as_str() {
        "bool" => ("most bytes are not a `bool` and elements are not checked", "`u8`"),
        "char" => (
            "most numbers are not a `char` and elements are not checked",
            "`u32`, or `&'a str` for text",
        ),
        _ => return None,
    };
    Some(Unsafe { culprit: ty, why, instead: instead.to_owned() })
}

pub(crate) fn is_number(ty: &Type) -> bool {
    const NUMBERS: [&str; 12] =
        ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "i128", "f32", "f64"];
    is_one_of(ty, &NUMBERS)
}

pub(crate) fn is_primitive(ty: &Type) -> bool {
    is_number(ty) || is_one_of(ty, &["bool", "char"])
}

fn is_one_of(ty: &Type, names: &[&str]) -> bool {
    let Type::Path(path) = innermost(ty) else { return false };
    path.path.get_ident().is_some_and(|ident| names.iter().any(|name| ident == name))
}

fn innermost(ty: &Type) -> &Type {
    match plainly(ty) {
        Type::Array(array) => innermost(&array.elem),
        ty => ty,
    }
}
