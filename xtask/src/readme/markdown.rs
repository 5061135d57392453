//! rustdoc's Markdown as plain Markdown: hidden lines and the words for rustdoc go, links to items
//! become their text.

use std::ops::Range;

use anyhow::{Result, bail, ensure};
use pulldown_cmark::{BrokenLink, CodeBlockKind, CowStr, Event, Options, Parser, Tag, TagEnd};

/// What stands behind the fence of a block of Rust; the rest is for rustdoc.
const RUST: [&str; 8] = [
    "",
    "rust",
    "no_run",
    "should_panic",
    "compile_fail",
    "ignore",
    "edition2024",
    "standalone_crate",
];

/// The kinds that a link may name before `@`.
const KINDS: [&str; 13] = [
    "struct", "enum", "trait", "union", "mod", "module", "const", "constant", "fn", "function",
    "value", "macro", "type",
];

/// Converts `text`; headings get `deeper` more signs.
pub(super) fn convert(text: &str, deeper: usize) -> Result<String> {
    let mut edits = edits(text, deeper)?;
    edits.sort_by_key(|(range, _)| range.start);
    let (mut converted, mut at) = (String::with_capacity(text.len()), 0);
    for (range, new) in edits {
        ensure!(at <= range.start, "two changes of the same text: {:?}", &text[range]);
        converted.push_str(&text[at..range.start]);
        converted.push_str(&new);
        at = range.end;
    }
    converted.push_str(&text[at..]);
    Ok(converted.trim_end().to_owned() + "\n")
}

fn edits(text: &str, deeper: usize) -> Result<Vec<(Range<usize>, String)>> {
    // rustdoc finds items by names that Markdown knows no definition of.
    let known =
        |link: BrokenLink| Some((CowStr::from(link.reference.to_string()), CowStr::from("")));
    let parser = Parser::new_with_broken_link_callback(text, Options::ENABLE_TABLES, Some(known));
    if let Some((name, _)) = parser.reference_definitions().iter().next() {
        bail!(
            "the link [{name}] is defined in a line of its own: write its target where it is used"
        );
    }
    let mut edits = Vec::new();
    let mut link: Option<(Range<usize>, Option<Range<usize>>)> = None;
    for (event, range) in parser.into_offset_iter() {
        match event {
            Event::Start(Tag::Heading { .. }) => {
                edits.push((range.start..range.start, "#".repeat(deeper)))
            }
            Event::Start(Tag::CodeBlock(CodeBlockKind::Fenced(info))) if is_rust(&info) => {
                edits.push((range.clone(), shown(&text[range])));
            }
            Event::Start(Tag::Link { dest_url, .. }) if is_to_an_item(&dest_url) => {
                link = Some((range, None))
            }
            Event::End(TagEnd::Link) => {
                if let Some((range, Some(inner))) = link.take() {
                    edits.push((range, without_kind(&text[inner])));
                }
            }
            _ => {
                if let Some((_, inner)) = &mut link {
                    let start = inner.as_ref().map_or(range.start, |inner| inner.start);
                    *inner = Some(start..range.end);
                }
            }
        }
    }
    Ok(edits)
}

/// Whether a block with this behind its fence is one of Rust.
fn is_rust(info: &str) -> bool {
    info.split([',', ' ']).all(|word| RUST.contains(&word))
}

fn is_to_an_item(target: &str) -> bool {
    !target.contains("://") && !target.starts_with('#')
}

/// A block as rustdoc shows it: a line that begins with a lone `#` is only there to be compiled.
fn shown(block: &str) -> String {
    let mut lines = block.lines();
    let fence = lines.next().unwrap_or_default();
    let mark = fence.trim_end_matches(|c: char| c != '`' && c != '~');
    let mut shown = format!("{mark}rust\n");
    let mut empty = true;
    for line in lines {
        let code = line.trim_start();
        if code == "#" || code.starts_with("# ") {
            continue;
        }
        // What hidden lines leave: no empty line at the beginning.
        if std::mem::replace(&mut empty, false) && code.is_empty() {
            empty = true;
            continue;
        }
        shown.push_str(&match code.strip_prefix("##") {
            Some(rest) => format!("{}#{rest}", &line[..line.len() - code.len()]),
            None => line.to_owned(),
        });
        shown.push('\n');
    }
    if block.ends_with('\n') { shown } else { shown.trim_end().to_owned() }
}

/// A link's text without the kind of item that only rustdoc needs: `` `macro@name` ``.
fn without_kind(text: &str) -> String {
    let quote = if text.starts_with('`') { "`" } else { "" };
    match text[quote.len()..].split_once('@') {
        Some((kind, name)) if KINDS.contains(&kind) => format!("{quote}{name}"),
        _ => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        assert_eq!(convert(text, 1).expect("it can be converted"), expected);
    }

    #[test]
    fn headings_move_down() {
        check("# One\n\n## Two `x`\n", "## One\n\n### Two `x`\n");
        check("A # in text, and `# one` in code.\n", "A # in text, and `# one` in code.\n");
    }

    #[test]
    fn hidden_lines_go_and_the_fence_says_rust() {
        check(
            "```no_run\n# use a::b;\n#\n\nlet x = 1;\n#[derive(Debug)]\n  ## two\n# }\n```\n",
            "```rust\nlet x = 1;\n#[derive(Debug)]\n  # two\n```\n",
        );
        check("```compile_fail,edition2024\nx\n```\n", "```rust\nx\n```\n");
    }

    #[test]
    fn other_blocks_stay_as_they_are() {
        for text in [
            "```sh\n# a comment\ncargo build\n```\n",
            "```toml\n[x]\n```\n",
            "    # indented\n    b\n",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn links_to_items_become_their_text() {
        check(
            "See [`Service`] and [the builder](crate::Builder::new).\n",
            "See `Service` and the builder.\n",
        );
        check(
            "[`macro@urom_plugin`], [`with`](Builder::with), [it][Item]\n",
            "`urom_plugin`, `with`, it\n",
        );
        check(
            "| [`A`] | [`B`](x) |\n| --- | --- |\n| [`C`] | d |\n",
            "| `A` | `B` |\n| --- | --- |\n| `C` | d |\n",
        );
    }

    #[test]
    fn links_to_other_places_stay() {
        for text in [
            "[docs](https://docs.rs/x)\n",
            "[below](#part)\n",
            "<https://docs.rs/x>\n",
            "`[b]` is code\n",
        ] {
            check(text, text);
        }
    }

    #[test]
    fn a_link_defined_elsewhere_is_refused() {
        let error = convert("[x]\n\n[x]: crate::X\n", 1).expect_err("it would be lost").to_string();
        assert!(error.contains("[x]"), "{error}");
    }
}
