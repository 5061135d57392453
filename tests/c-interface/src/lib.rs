//! Compares Rust's functions and structures with the C headers in `urom-abi/include`.
//!
//! [`CType`] writes a Rust type as C. The generated prototypes follow an include of all headers, so
//! the C compiler reports conflicting declarations.

mod compiler;
mod headers;
mod types;

pub use compiler::{Language, build, check, run};
pub use headers::{declared, include, names};
pub use types::{CType, Function, prototype_of, type_of};

use std::collections::BTreeSet;

/// Compiles `code` after all headers.
///
/// # Errors
/// The compiler's messages if the declarations conflict.
pub fn agree(code: &str) -> Result<(), String> {
    let includes: String = names().iter().map(|name| format!("#include <{name}>\n")).collect();
    // DOCA's structures end in flexible arrays and contain each other, which ISO C forbids.
    let head = "#define DOCA_ALLOW_EXPERIMENTAL_API\n#pragma GCC diagnostic ignored \"-Wpedantic\"";
    check(Language::C11, &include(), &format!("{head}\n#include <stdio.h>\n{includes}{code}"))
}

/// Checks that the headers declare exactly `functions` (name and prototype), with the same types;
/// ignores functions that `is_own` excludes.
///
/// # Panics
/// If they differ, with the names or the compiler's messages.
pub fn assert_functions(functions: &[(&str, String)], is_own: impl Fn(&str) -> bool) {
    let defined: BTreeSet<&str> = functions.iter().map(|(name, _)| *name).collect();
    let declared = declared();
    let declared: BTreeSet<&str> =
        declared.iter().map(String::as_str).filter(|name| is_own(name)).collect();
    assert_eq!(defined, declared, "the functions of Rust and of the headers");
    let prototypes: String = functions.iter().map(|(_, text)| text.as_str()).collect();
    if let Err(complaints) = agree(&prototypes) {
        panic!("the headers declare other types than Rust:\n{complaints}");
    }
}

/// Name and prototype of each function: `functions![f(_, _) -> _, g() -> _]`, one `_` for each
/// argument.
#[macro_export]
macro_rules! functions {
    ($($name:ident($($argument:ty),*) $(-> $returned:ty)?),* $(,)?) => {
        [$((stringify!($name), $crate::prototype_of(
            $name as unsafe extern "C" fn($($argument),*) $(-> $returned)?,
            stringify!($name),
        ))),*]
    };
}

/// `_Static_assert`s that a Rust structure has C's size, alignment, offsets and field types:
/// `structure!(Rust = "struct c" { field, other = "member", .. })`, with every field.
#[macro_export]
macro_rules! structure {
    (@ $field:ident) => { stringify!($field) };
    (@ $field:ident $member:literal) => { $member };
    ($rust:ident = $c:literal { $($field:ident $(= $member:literal)?),* $(,)? }) => {{
        #[allow(unused, reason = "it only lists the fields, so that none is forgotten")]
        fn complete(of: &$rust) {
            let $rust { $($field: _),* } = of;
        }
        let mut text = $crate::layout($c, size_of::<$rust>(), align_of::<$rust>());
        $(text += &$crate::member(
            $c,
            $crate::structure!(@ $field $($member)?),
            ::core::mem::offset_of!($rust, $field),
            &$crate::type_of(|of: &$rust| &of.$field),
        );)*
        text
    }};
}

/// One `_Static_assert`.
#[must_use]
pub fn equal(c: &str, rust: u64) -> String {
    format!("_Static_assert({c} == {rust}U, \"{c} is {rust} in Rust\");\n")
}

#[doc(hidden)]
#[must_use]
pub fn layout(c: &str, size: usize, align: usize) -> String {
    equal(&format!("sizeof({c})"), size as u64) + &equal(&format!("_Alignof({c})"), align as u64)
}

#[doc(hidden)]
#[must_use]
pub fn member(c: &str, member: &str, offset: usize, ty: &str) -> String {
    equal(&format!("offsetof({c}, {member})"), offset as u64)
        + &format!(
            "_Static_assert(__builtin_types_compatible_p(__typeof__((({c} *)0)->{member}), {ty}), \
             \"{c}.{member} is {ty} in Rust\");\n"
        )
}
