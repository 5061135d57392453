//! Derives that stand above the macro. They were expanded before it and are gone from its input, so
//! it reads them from the source file. They see the definition with its words, and the structures
//! do not get them.

use proc_macro2::Span;
use syn::Attribute;
use syn::parse::Parser;

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
            text.starts_with("#[derive")
                || text.starts_with("#[cfg_attr") && text.contains("derive(")
        })
        .filter_map(|text| Attribute::parse_outer.parse_str(&text).ok()?.pop())
        .collect()
}

/// The attributes that end where a place begins, with nothing but comments between them. Line and
/// column count from 1.
fn attributes_before(source: &str, line: usize, column: usize) -> Vec<String> {
    let mut lines = source.split('\n').take(line).map(without_comment).collect::<Vec<_>>();
    let Some(own) = lines.pop().filter(|_| lines.len() + 1 == line) else { return Vec::new() };
    let own = own.chars().take(column.saturating_sub(1)).collect::<String>();
    lines.push(&own);
    let text = lines.join("\n");
    let (mut before, mut found) = (text.as_str(), Vec::new());
    loop {
        before = before.trim_end();
        if let Some((code, _)) = before.strip_suffix("*/").and_then(|text| text.rsplit_once("/*")) {
            before = code;
            continue;
        }
        let attribute = before.strip_suffix(']').and_then(|_| begin_of_brackets(before));
        let Some((rest, attribute)) = attribute.map(|at| before.split_at(at)) else { return found };
        let Some(rest) = rest.trim_end().strip_suffix('#') else { return found };
        found.push(format!("#{attribute}"));
        before = rest;
    }
}

/// The line up to its `//`. In a string, two slashes are no comment.
fn without_comment(line: &str) -> &str {
    let in_string = |at: &usize| line[..*at].matches('"').count() % 2 == 1;
    let comment = line.match_indices("//").map(|(at, _)| at).find(|at| !in_string(at));
    &line[..comment.unwrap_or(line.len())]
}

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
        assert_eq!(
            attributes_before(source, 6, 27),
            ["#[cfg_attr(a, derive(B))]", "#[derive(Debug)]"]
        );
        assert_eq!(attributes_before(source, 4, 1), [""; 0]);
    }

    #[test]
    fn comments_hide_no_attribute() {
        let source = "#[doc = \"http://a\"] // Why.\n#[derive(Debug)] // [b]\n#[x] /* c\n#[y] */ // ]\n\n#[macro]\n";
        assert_eq!(
            attributes_before(source, 6, 1),
            ["#[x]", "#[derive(Debug)]", "#[doc = \"http://a\"]"]
        );
    }

    #[test]
    fn a_place_that_the_source_does_not_have_is_above_nothing() {
        for (line, column) in [(0, 0), (1, 1), (1, 99), (99, 1), (usize::MAX, usize::MAX)] {
            assert_eq!(attributes_before("a]\n]", line, column), [""; 0]);
        }
    }
}
