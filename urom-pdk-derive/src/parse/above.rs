//! Finds derives above the macro, already expanded and missing in its input, in the source file.

use proc_macro2::Span;

pub(super) fn derives() -> Option<String> {
    if !proc_macro::is_available() {
        return None;
    }
    let here = Span::call_site().unwrap();
    let source = here.local_file().and_then(|file| std::fs::read_to_string(file).ok())?;
    above(&source, here.line())
}

pub(super) fn names(attributes: &str, derive: &str) -> bool {
    let mut words = attributes.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.any(|word| word == derive)
}

/// Returns the attributes above `line`, without comments, if any is a derive.
fn above(source: &str, line: usize) -> Option<String> {
    let lines = source.lines().take(line.saturating_sub(1)).collect::<Vec<_>>();
    let mut attributes = String::new();
    // Whether the line belongs to a multi-line attribute, read from its end.
    let mut is_open = false;
    for line in lines.into_iter().rev() {
        let is_comment = ["//", "/*"].iter().any(|start| line.trim().starts_with(start));
        let line = line.split("//").next().unwrap_or_default().trim();
        let begins = line.starts_with("#[");
        is_open = (is_open || line == ")]") && !begins;
        if is_comment {
            continue;
        }
        if !is_open
            && !(begins && (line.ends_with(']') || line.ends_with("*/") || line.ends_with('(')))
        {
            break;
        }
        attributes.insert_str(0, line);
    }
    let derives = ["#[derive(", "derive("].map(|start| attributes.contains(start));
    (derives[0] || derives[1] && attributes.contains("#[cfg_attr")).then_some(attributes)
}

#[cfg(test)]
mod tests {
    use super::{above, names};

    #[test]
    fn derives_above_a_line_are_found_up_to_other_code() {
        let source = "#[derive(A)]\nfn f() {}\n\n/// Docs.\n#[derive(Debug)] // Why.\n  // What.\n#[x]\n#[macro]\nenum E {}\n";
        let lines = (0..11).filter(|line| above(source, *line).is_some()).collect::<Vec<_>>();
        assert_eq!(lines, [2, 6, 7, 8, 9]);
        assert!(above("#[cfg_attr(a, derive(B))]\n#[macro]", 2).is_some());
    }

    #[test]
    fn a_derive_on_several_lines_is_found_and_that_of_another_item_is_not() {
        let found =
            above("#[derive(\n    Debug, // Why.\n    core::clone::Clone,\n)]\n#[macro]", 5);
        let found = found.unwrap();
        let named = ["Debug", "Clone", "Why", "PartialEq"].map(|name| names(&found, name));
        assert_eq!(named, [true, true, false, false]);
        for item in ["struct A;", "struct A { x: [u8; 2] }", "struct A([u8; 2]);", "fn f() {"] {
            assert_eq!(above(&format!("#[derive(Debug)] {item}\n#[macro]"), 2), None, "{item}");
        }
    }
}
