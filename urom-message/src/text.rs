//! Text for terminals, of names and values that a file or a peer determines.

use std::fmt::Display;

/// Escapes control characters, so the text is one line.
pub fn plain(text: &str) -> String {
    let escape = |c: char| if acts(c) { c.escape_default().to_string() } else { c.to_string() };
    text.chars().map(escape).collect()
}

/// Puts each name in backquotes, separated by commas.
pub fn quoted(names: impl IntoIterator<Item: Display>) -> String {
    names.into_iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}

/// Whether [`plain`] returns the same text.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(acts)
}

/// Whether a character controls a terminal, or the order of nearby characters.
#[must_use]
pub fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped_and_other_text_is_unchanged() {
        assert_eq!(plain("a\u{1b}[2J\r\n\u{9b}\u{7f}"), "a\\u{1b}[2J\\r\\n\\u{9b}\\u{7f}");
        assert_eq!(plain("\u{202e}gnp.exe"), "\\u{202e}gnp.exe");
        for text in ["", "worker_graph", "größer", "数", "a\\b"] {
            assert!(is_plain(text) && plain(text) == text, "{text}");
        }
    }
}
