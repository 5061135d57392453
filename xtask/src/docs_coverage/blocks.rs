//! The blocks of Rust in a documentation comment.

use pulldown_cmark::{CodeBlockKind, Event, Parser, Tag, TagEnd};

use crate::readme::markdown::is_rust;

/// Their text, one behind the other; nothing when there is none.
pub(crate) fn of(comment: &str) -> Option<String> {
    let (mut code, mut inside): (Option<String>, bool) = (None, false);
    for event in Parser::new(comment) {
        match event {
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_example(&info) => {
                inside = true;
                code.get_or_insert_default();
            }
            Event::End(TagEnd::CodeBlock) => inside = false,
            Event::Text(text) if inside => code.get_or_insert_default().push_str(&text),
            _ => {}
        }
    }
    code
}

/// Whether a block shows how something is used: it is compiled, and is meant to be.
fn is_example(info: &str) -> bool {
    is_rust(info) && !info.split([',', ' ']).any(|word| word == "ignore" || word == "compile_fail")
}

/// Whether `code` has `name` as a word of its own.
pub(crate) fn names(code: &str, name: &str) -> bool {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').any(|word| word == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_of_rust_are_found_and_others_are_not() {
        let comment =
            "Text.\n\n```no_run\none();\n```\n\n```text\ntwo\n```\n\n```\nthree();\n```\n";
        assert_eq!(of(comment).as_deref(), Some("one();\nthree();\n"));
        assert_eq!(of("```text\ntwo\n```\n`inline`"), None);
        assert_eq!(of("```ignore\none\n```\n\n```compile_fail,edition2024\ntwo\n```\n"), None);
    }

    #[test]
    fn a_name_is_a_whole_word() {
        assert!(names("a.send(b)", "send") && names("Type::send", "send"));
        assert!(!names("a.send_all(resend)", "send"));
    }
}
