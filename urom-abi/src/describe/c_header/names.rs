//! Names that are valid in C and C++ and unique in their scope.

use std::collections::HashSet;

/// Keywords of C11, C23 and C++17, unprefixed names of `<stddef.h>` and `<stdint.h>`, macros.
const RESERVED: &str = "alignas alignof and and_eq asm atomic_cancel auto bitand bitor bool break case catch char \
    char16_t char32_t char8_t class co_await co_return co_yield compl concept const const_cast consteval constexpr \
    constinit continue decltype default delete do double dynamic_cast else enum errno explicit export extern false \
    float for friend goto i386 if inline int int16_t int32_t int64_t int8_t intmax_t intptr_t linux long \
    max_align_t mutable namespace new noexcept not not_eq nullptr nullptr_t offsetof operator or or_eq private \
    protected ptrdiff_t public register reinterpret_cast requires restrict return short signed size_t sizeof static \
    static_assert static_cast stderr stdin stdout struct switch template this thread_local throw true try typedef \
    typeid typename typeof typeof_unqual uint16_t uint32_t uint64_t uint8_t uintmax_t uintptr_t union unix unsigned \
    using virtual void volatile wchar_t while xor xor_eq NULL";

pub(super) struct Scope(HashSet<String>);

impl Scope {
    pub(super) fn new(taken: &[&str]) -> Scope {
        Scope(taken.iter().map(|&name| name.to_owned()).collect())
    }

    /// Returns the C name for `wanted`, with `_` appended if it is reserved or taken.
    pub(super) fn name(&mut self, wanted: &str) -> String {
        let mut name = identifier(wanted);
        while RESERVED.split_ascii_whitespace().any(|reserved| reserved == name)
            || !self.0.insert(name.clone())
        {
            name.push('_');
        }
        name
    }
}

/// Converts `text` to a C identifier. Letters beyond ASCII become their code points, other
/// characters `_`. Avoids names that C reserves for the compiler (`_A`, `a__b`, a leading digit).
pub(super) fn identifier(text: &str) -> String {
    let mut name = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii_alphanumeric() {
            name.push(c);
        } else if c.is_alphanumeric() {
            name.push_str(&format!("u{:x}", u32::from(c)));
        } else if !name.ends_with('_') {
            name.push('_');
        }
    }
    let hidden = name
        .strip_prefix('_')
        .is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()));
    if hidden || name.is_empty() || name.starts_with(|c: char| c.is_ascii_digit()) {
        name.insert(0, 'x');
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identifier_of_rust_that_c_allows_stays_as_it_is() {
        for name in ["a", "memh_id", "x2", "_unused", "UPPER"] {
            assert_eq!(identifier(name), name);
        }
    }

    #[test]
    fn an_identifier_that_c_forbids_is_changed() {
        let cases = [
            ("größe", "gru00f6u00dfe".replace("00", "")),
            ("libucc-doca.so", "libucc_doca_so".into()),
            ("[Foo; 2]", "x_Foo_2_".into()),
            ("a::b", "a_b".into()),
            ("2fast", "x2fast".into()),
            ("a__b", "a_b".into()),
            ("__x", "_x".into()),
            ("_X", "x_X".into()),
            ("_", "x_".into()),
            ("0", "x0".into()),
            ("", "x".into()),
        ];
        for (rust, c) in cases {
            assert_eq!(identifier(rust), c, "{rust}");
        }
    }

    #[test]
    fn a_name_is_given_once_and_never_a_keyword() {
        let mut scope = Scope::new(&["type"]);
        let names =
            ["type", "data", "data", "register", "class", "_Bool"].map(|name| scope.name(name));
        assert_eq!(names, ["type_", "data", "data_", "register_", "class_", "x_Bool"]);
    }
}
