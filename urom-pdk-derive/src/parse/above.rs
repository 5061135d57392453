//! Derives that stand above the macro. They were expanded before it, with the definition's words,
//! and are gone from its input, so it looks for them in the source file.

use proc_macro2::Span;

/// Whether one stands on the lines right above.
pub(super) fn has_derive() -> bool {
    if !proc_macro::is_available() {
        return false;
    }
    let here = Span::call_site().unwrap();
    let source = here.local_file().and_then(|file| std::fs::read_to_string(file).ok());
    source.is_some_and(|source| is_derived(&source, here.line()))
}

fn is_derived(source: &str, line: usize) -> bool {
    let above = source.lines().take(line.saturating_sub(1)).map(str::trim).collect::<Vec<_>>();
    let is_above = |line: &&&str| ["#[", "//", "/*"].iter().any(|start| line.starts_with(start));
    let is_derive = |line: &&str| {
        line.starts_with("#[derive(") || line.starts_with("#[cfg_attr") && line.contains("derive(")
    };
    above.iter().rev().take_while(is_above).any(is_derive)
}

#[cfg(test)]
mod tests {
    use super::is_derived;

    #[test]
    fn derives_above_a_line_are_found_up_to_other_code() {
        let source = "#[derive(A)]\nfn f() {}\n\n/// Docs.\n#[derive(Debug)] // Why.\n  // What.\n#[x]\n#[macro]\nenum E {}\n";
        let lines = (0..11).filter(|line| is_derived(source, *line)).collect::<Vec<_>>();
        assert_eq!(lines, [2, 6, 7, 8, 9]);
        assert!(is_derived("#[cfg_attr(a, derive(B))]\n#[macro]", 2));
    }
}
