//! Derives that stand above the macro. They were expanded before it and are gone from what it is given, so it reads them from
//! the source file.
//!
//! Such a derive works on the definition as it was written, with its words, and the structures have no part in it. Where the
//! source cannot be read, rustc reports what comes of that.

use proc_macro2::Span;
use syn::Attribute;
use syn::parse::Parser;

/// The attributes above the macro that derive something.
pub(super) fn derives() -> Vec<Attribute> {
    if !proc_macro::is_available() {
        return Vec::new();
    }
    let here = Span::call_site().unwrap();
    let source = here.local_file().and_then(|file| std::fs::read_to_string(file).ok());
    let Some(source) = source else { return Vec::new() };
    attributes_before(&source, here.line(), here.column())
        .into_iter()
        .filter(|text| {
            text.starts_with("#[derive") || text.starts_with("#[cfg_attr") && text.contains("derive(")
        })
        .filter_map(|text| Attribute::parse_outer.parse_str(text).ok()?.pop())
        .collect()
}

/// The attributes that end where a place begins, with nothing but comments between them. Line and column count from 1.
fn attributes_before(source: &str, line: usize, column: usize) -> Vec<&str> {
    let start = source.split_inclusive('\n').take(line.saturating_sub(1)).map(str::len).sum::<usize>();
    let Some(own_line) = source.get(start..) else { return Vec::new() };
    let in_line = own_line.chars().take(column.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    let mut before = source.get(..start + in_line).unwrap_or_default();
    let mut found = Vec::new();
    loop {
        before = before.trim_end();
        let last_line = before.rfind('\n').map_or(0, |at| at + 1);
        if before.get(last_line..).is_some_and(|line| line.trim_start().starts_with("//")) {
            before = before.get(..last_line).unwrap_or_default();
            continue;
        }
        let attribute =
            before.strip_suffix(']').and_then(|_| begin_of_brackets(before)).map(|at| before.split_at(at));
        let Some((rest, attribute)) = attribute else { return found };
        let Some(rest) = rest.trim_end().strip_suffix('#') else { return found };
        found.push(before.get(rest.len()..).unwrap_or(attribute));
        before = rest;
    }
}

/// Where the brackets open that close at the end of `text`.
fn begin_of_brackets(text: &str) -> Option<usize> {
    let mut depth = 0usize;
    for (at, c) in text.char_indices().rev() {
        match c {
            ']' => depth += 1,
            '[' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::attributes_before;

    #[test]
    fn attributes_above_a_place_are_found_up_to_other_code() {
        let source = "fn f() -> [u8; 1] {}\n\n/// Docs [a].\n#[derive(Debug)]\n  // Why.\n#[cfg_attr(a, derive(B))] #[x([1])]\n#[macro]\nenum E {}\n";
        let found = attributes_before(source, 7, 1);
        assert_eq!(found, ["#[x([1])]", "#[cfg_attr(a, derive(B))]", "#[derive(Debug)]"]);
        assert_eq!(attributes_before(source, 6, 27), ["#[cfg_attr(a, derive(B))]", "#[derive(Debug)]"]);
        assert_eq!(attributes_before(source, 4, 1), [""; 0]);
    }

    #[test]
    fn a_place_that_the_source_does_not_have_is_above_nothing() {
        for (line, column) in [(0, 0), (1, 1), (1, 99), (99, 1), (usize::MAX, usize::MAX)] {
            assert_eq!(attributes_before("a]\n]", line, column), [""; 0]);
        }
    }
}
