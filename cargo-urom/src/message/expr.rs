//! The expressions of `when` and `len` that are simple enough to be computed without the definition they stand in: a
//! field, a payload's length, a number, a constant, a comparison of two of these, and a `bool` or its opposite.

/// What an expression may name.
pub(super) trait Names {
    /// The integer at a path like `params.len`.
    fn field(&self, path: &str) -> Option<i128>;
    /// The `bool` at a path.
    fn truth(&self, path: &str) -> Option<bool>;
    /// The value of a constant by its path, as the definition has it.
    fn constant(&self, path: &str) -> Option<i128>;
    /// How many elements a payload has.
    fn len(&self, payload: &str) -> Option<i128>;
}

/// What `text` comes to; `None` for what cannot be computed here.
pub(super) fn number(text: &str, names: &impl Names) -> Option<i128> {
    let mut text = text.trim();
    // As often as a description says, which is anybody's: no recursion.
    while let Some(inner) = text.strip_prefix('(').and_then(|inner| inner.strip_suffix(')')) {
        text = inner.trim();
    }
    if let Some(digits) = text.strip_prefix('-') {
        return literal(digits).map(|value| -value);
    }
    if let Some(payload) = text.strip_suffix(".len()") {
        return names.len(payload);
    }
    literal(text)
        .or_else(|| names.constant(text))
        .or_else(|| is_path(text).then(|| names.field(text)).flatten())
}

/// Whether `text` holds; `None` for what cannot be computed here.
pub(super) fn holds(text: &str, names: &impl Names) -> Option<bool> {
    let text = text.trim();
    // Longer signs first: `<=` has a `<` in it.
    for (sign, compare) in SIGNS {
        if let Some((left, right)) = text.split_once(sign) {
            return Some(compare(&number(left, names)?, &number(right, names)?));
        }
    }
    match text.strip_prefix('!') {
        Some(path) => names.truth(path).map(|truth| !truth),
        None => names.truth(text),
    }
}

type Compare = fn(&i128, &i128) -> bool;

const SIGNS: [(&str, Compare); 6] = [
    ("<=", i128::le),
    (">=", i128::ge),
    ("==", i128::eq),
    ("!=", i128::ne),
    ("<", i128::lt),
    (">", i128::gt),
];

/// A number in Rust's notation, perhaps with its type behind it.
fn literal(text: &str) -> Option<i128> {
    let text = text.replace('_', "");
    let suffixes = ["u8", "u16", "u32", "u64", "usize", "i8", "i16", "i32", "i64", "isize"];
    let text = suffixes.iter().find_map(|suffix| text.strip_suffix(suffix)).unwrap_or(&text);
    match text.strip_prefix("0x") {
        Some(digits) => i128::from_str_radix(digits, 16).ok(),
        None => text.starts_with(|c: char| c.is_ascii_digit()).then(|| text.parse().ok()).flatten(),
    }
}

fn is_path(text: &str) -> bool {
    text.split('.').all(|name| {
        name.starts_with(|c: char| c == '_' || c.is_alphabetic())
            && name.chars().all(|c| c == '_' || c.is_alphanumeric())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Example;

    impl Names for Example {
        fn field(&self, path: &str) -> Option<i128> {
            match path {
                "stride" => Some(-1),
                "args.kind" => Some(7),
                _ => None,
            }
        }

        fn truth(&self, path: &str) -> Option<bool> {
            (path == "args.loud").then_some(true)
        }

        fn constant(&self, path: &str) -> Option<i128> {
            (path == "limits::MOST").then_some(9)
        }

        fn len(&self, payload: &str) -> Option<i128> {
            (payload == "keys").then_some(3)
        }
    }

    #[test]
    fn fields_lengths_and_numbers_are_computed() {
        let cases = [
            ("stride", -1),
            ("(args.kind)", 7),
            ("keys.len()", 3),
            ("-5", -5),
            ("0x1f_u8", 31),
            ("12usize", 12),
            ("(limits::MOST)", 9),
        ];
        for (text, want) in cases {
            assert_eq!(number(text, &Example), Some(want), "{text}");
        }
    }

    #[test]
    fn brackets_may_be_as_many_as_a_description_has_room_for() {
        let (open, close) = ("(".repeat(1 << 20), ")".repeat(1 << 20));
        assert_eq!(number(&format!("{open}7{close}"), &Example), Some(7));
        assert_eq!(holds(&format!("{open}7{close} == 7"), &Example), Some(true));
        assert_eq!(number(&open, &Example), None);
    }

    #[test]
    fn comparisons_of_two_are_computed() {
        let cases = [
            ("stride <= 0", true),
            ("args.kind == 7", true),
            ("(args.kind) != 7", false),
            ("keys.len() > 2", true),
            ("3 < keys.len()", false),
            ("args.loud", true),
            ("!args.loud", false),
            ("args.kind < limits::MOST", true),
        ];
        for (text, want) in cases {
            assert_eq!(holds(text, &Example), Some(want), "{text}");
        }
    }

    #[test]
    fn nothing_else_is_guessed() {
        for text in [
            "carries_counts(args)",
            "stride + 1",
            "stride as u8",
            "other",
            "x.len()",
            "",
            "a::B",
            "u8",
        ] {
            assert_eq!(number(text, &Example), None, "{text}");
        }
        let conditions = [
            "stride",
            "stride <= 0 && args.kind == 7",
            "has(args)",
            "!(stride <= 0)",
            "args.kind & 1 != 0",
            "a << 1 > 2",
        ];
        for text in conditions {
            assert_eq!(holds(text, &Example), None, "{text}");
        }
    }
}
