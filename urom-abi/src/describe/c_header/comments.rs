//! Rust's documentation as C comments.

use std::fmt::Write as _;

/// Strips the space after `///` and empty lines at both ends.
pub(super) fn lines(docs: &str) -> Vec<String> {
    let lines: Vec<&str> =
        docs.lines().map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end()).collect();
    let first = lines.iter().position(|line| !line.is_empty()).unwrap_or(lines.len());
    let last = lines.iter().rposition(|line| !line.is_empty()).map_or(first, |last| last + 1);
    lines[first..last].iter().map(|&line| line.to_owned()).collect()
}

pub(super) fn paragraphs(parts: impl IntoIterator<Item = Vec<String>>) -> Vec<String> {
    let mut all = Vec::new();
    for part in parts.into_iter().filter(|part| !part.is_empty()) {
        if !all.is_empty() {
            all.push(String::new());
        }
        all.extend(part);
    }
    all
}

pub(super) fn write(out: &mut String, indent: &str, lines: &[String]) {
    match lines {
        [] => {}
        [line] => _ = writeln!(out, "{indent}/** {} */", harmless(line)),
        lines => {
            _ = writeln!(out, "{indent}/**");
            for line in lines {
                let space = if line.is_empty() { "" } else { " " };
                _ = writeln!(out, "{indent} *{space}{}", harmless(line));
            }
            _ = writeln!(out, "{indent} */");
        }
    }
}

/// Removes control characters from a line, and breaks up comment delimiters and trigraphs.
fn harmless(line: &str) -> String {
    let visible: String =
        line.chars().filter(|&c| c == '\t' || !(c.is_control() || is_direction(c))).collect();
    visible.replace("??/", "? ?/").replace("*/", "* /").replace("/*", "/ *")
}

/// Returns whether a character only changes the text direction, which compilers warn about.
fn is_direction(c: char) -> bool {
    matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(docs: &str) -> String {
        let mut out = String::new();
        write(&mut out, "\t", &lines(docs));
        out
    }

    #[test]
    fn one_line_stays_one_and_more_become_a_block() {
        assert_eq!(written(" Sends `data`."), "\t/** Sends `data`. */\n");
        assert_eq!(written(" a\n\n   b\n"), "\t/**\n\t * a\n\t *\n\t *   b\n\t */\n");
        assert_eq!(written("\n \n"), "");
        assert_eq!(written(""), "");
    }

    #[test]
    fn nothing_ends_a_comment_before_its_end() {
        for docs in
            ["*/", "**/", "/*/", "*/*", "a */ int b; /*", "/**/", "x\u{0}*\u{0}/", "*\u{202e}/"]
        {
            let text = written(docs);
            let inside = text.trim().strip_prefix("/**").and_then(|text| text.strip_suffix("*/"));
            let inside = inside.expect("a comment");
            assert!(!inside.contains("*/") && !inside.contains("/*"), "{docs}: {text}");
        }
        assert!(!written("what??/").contains("??/"));
    }

    #[test]
    fn paragraphs_are_set_apart() {
        let all = paragraphs([lines("a"), Vec::new(), lines("b\nc")]);
        assert_eq!(all, ["a", "", "b", "c"]);
        assert_eq!(paragraphs([Vec::new()]), [""; 0]);
    }
}
