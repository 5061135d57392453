//! Counts habits of hard English in comments, messages and pages, and fails above a limit.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use fs_err as fs;
use regex_lite::Regex;

use crate::shell;
use crate::workspace::Workspace;

/// The limit for all files, in a hundred sentences.
const LIMIT: f64 = 3.0;
/// The limit for one file with at least [`FEW`] places.
const LIMIT_OF_A_FILE: f64 = 6.0;
const FEW: usize = 3;
/// The number of places that an error lists.
const SHOWN: usize = 40;

struct Habit {
    name: &'static str,
    pattern: &'static str,
    /// Words after the pattern that make it a usual phrase.
    unless: &'static [&'static str],
    /// What to write instead.
    instead: &'static str,
}

const fn habit(name: &'static str, pattern: &'static str, instead: &'static str) -> Habit {
    Habit { name, pattern, unless: &[], instead }
}

const HABITS: [Habit; 12] = [
    Habit {
        name: "is-no",
        pattern: r"\b(is|are|was|were|be|has|have|had|gives|takes|names|holds|finds) (no|none)\b",
        unless: &["longer", "more", "need", "such", "effect", "way", "doubt"],
        instead: "is not a .., lacks: say what it is",
    },
    habit(
        "what-clause",
        r"(^|[.;:] )(What|Who|Whoever|Whatever|Whichever|All that|Each that|Those that|None of)\b[^?]{3,}",
        "begin with a named thing: \"The frame\", \"Each handler\"",
    ),
    habit(
        "noun-what",
        r"\b(of|for|to|with|from|by|in|at|on|than|and|or|as|about|behind|beside|before|after) (what|whom|whatever|who)\b",
        "name the thing",
    ),
    habit(
        "pronoun-that",
        r"\b(that of|those of|one of them|the one|the ones|one that|ones that|those that|that which|of which|for which|in which|to which|by which|with which)\b",
        "repeat the noun",
    ),
    habit(
        "nobody",
        r"\b(nobody|somebody|anybody|everybody|no one)\b",
        "name the thread, host, caller",
    ),
    habit("in-place-of", r"\bin place of\b", "instead of"),
    habit(
        "besides",
        r"\b(besides|thereby|therein|thereof|hitherto|henceforth|withal)\b",
        "also; leave out",
    ),
    habit(
        "inverted",
        r"(^|[.;] )(So|Nor|Neither) (do|does|did|is|are|was|were|has|have|can|may)\b",
        "subject first",
    ),
    habit(
        "things-talk",
        r"\b(says?|said|tells?|told|hears?|heard|knows?|knew|minds?|believes?) (so|of|that|what|it|nobody|nothing|its|the)\b",
        "reports, returns, contains, logs",
    ),
    habit(
        "as-it-is",
        r"\b(as it is|as they are|as it was|as may|than it may|as it may|as they may|if that is|if there is none|where that is)\b",
        "name the state or the limit",
    ),
    habit(
        "is-to",
        r"\b(is|are|was|were) to be\b|\b(is|are) (got|gone|come|taken for|had|over for)\b",
        "must, will; allocated, removed",
    ),
    habit(
        "own-words",
        r"\b(patience|impatien\w+|greeting|greets?|gives? (it |them )?up|given up|falling rate|stranger?s?|strays?|roster|desk|hang(s|ing)? up on|at the door|took leave|departed)\b",
        "timeout, handshake, cancel, backoff, unknown, registry",
    ),
];

/// Counts the habits in all tracked files.
///
/// # Errors
/// Above a limit, with the places.
pub(crate) fn run(workspace: &Workspace) -> Result<()> {
    let root = &workspace.root;
    let kinds = ["*.rs", "*.md", "*.c", "*.h", "*.toml", "*.liquid"];
    let mut list = Command::new("git");
    let listed = shell::read(list.args(["ls-files", "-z", "--"]).args(kinds).current_dir(root))?;
    let counter = Counter::new()?;
    let (mut sentences, mut places, mut of_file) = (0, 0, String::new());
    let mut worst = BTreeMap::new();
    for file in listed.split('\0').filter(|file| !file.is_empty() && !is_output(file)) {
        let path = root.join(file);
        if path.is_symlink() || !path.exists() {
            continue;
        }
        let count = counter.count(file, &fs::read_to_string(&path)?);
        sentences += count.sentences;
        places += count.places.len();
        let rate = rate(count.places.len(), count.sentences);
        if rate > LIMIT_OF_A_FILE && count.places.len() >= FEW {
            writeln!(of_file, "{file}: {rate:.1} in a hundred sentences")?;
        }
        worst.insert((usize::MAX - count.places.len(), file.to_owned()), count.places);
    }
    let all = rate(places, sentences);
    println!("prose: {all:.1} habits in a hundred sentences ({places} in {sentences})");
    if all <= LIMIT && of_file.is_empty() {
        return Ok(());
    }
    let list: Vec<String> = worst.into_values().flatten().take(SHOWN).collect();
    bail!(
        "hard English: at most {LIMIT} habits in a hundred sentences, and {LIMIT_OF_A_FILE} in a \
         file. Rewrite these sentences:\n{}\n{of_file}",
        list.join("\n")
    )
}

fn rate(places: usize, sentences: usize) -> f64 {
    100.0 * places as f64 / sentences.max(1) as f64
}

/// Whether a file is the output of a program.
fn is_output(file: &str) -> bool {
    ["snapshots/", "bindings", "expected", "transcripts/", "CHANGELOG", "golden"]
        .iter()
        .any(|part| file.contains(part))
        // The patterns themselves.
        || file == "xtask/src/prose.rs"
}

struct Counter {
    habits: Vec<(&'static Habit, Regex)>,
    end: Regex,
    quoted: Regex,
}

#[derive(Default)]
struct Count {
    sentences: usize,
    places: Vec<String>,
}

impl Counter {
    fn new() -> Result<Counter> {
        let regex = |pattern: &str| Regex::new(pattern).context("a pattern");
        let habits = HABITS.iter().map(|habit| Ok((habit, regex(habit.pattern)?)));
        Ok(Counter {
            habits: habits.collect::<Result<_>>()?,
            end: regex(r"[.!?]( |$)")?,
            quoted: regex(r#""((?:[^"\\]|\\.){12,})""#)?,
        })
    }

    fn count(&self, file: &str, text: &str) -> Count {
        let mut count = Count::default();
        for (line, paragraph) in self.paragraphs(file, text) {
            count.sentences += self.end.find_iter(&paragraph).count().max(1);
            for (habit, regex) in &self.habits {
                for found in regex.find_iter(&paragraph) {
                    let next = paragraph[found.end()..].split_whitespace().next().unwrap_or("");
                    let next = next.trim_end_matches(|c: char| !c.is_alphanumeric());
                    if habit.unless.contains(&next) {
                        continue;
                    }
                    let sentence = sentence(&paragraph, found.start());
                    count.places.push(format!(
                        "{file}:{line}: {sentence}\n    {}: {}",
                        habit.name, habit.instead
                    ));
                }
            }
        }
        count
    }

    /// Returns the paragraphs of a page, or the comments and long strings of a source, each with its
    /// line.
    fn paragraphs(&self, file: &str, text: &str) -> Vec<(usize, String)> {
        let mut all = Vec::new();
        let extension = Path::new(file).extension().and_then(|name| name.to_str());
        let mut current: Option<(usize, String)> = None;
        let mut in_code = false;
        for (number, line) in (1..).zip(text.lines()) {
            let trimmed = line.trim();
            let part = match extension {
                Some("md") => {
                    let fence = trimmed.starts_with("```");
                    in_code ^= fence;
                    (!fence && !in_code).then_some(trimmed)
                }
                Some("toml") => comment(trimmed, &["# "]),
                _ => comment(trimmed, &["///", "//!", "//", "/**", "/*", "*"]),
            };
            // Each row of a table stands alone.
            if part.is_some_and(|part| part.starts_with('|')) {
                all.extend(current.take());
            }
            match (part, &mut current) {
                (Some(""), _) | (None, _) => all.extend(current.take()),
                (Some(part), Some((_, paragraph))) => {
                    paragraph.push(' ');
                    paragraph.push_str(part);
                }
                (Some(part), None) => current = Some((number, part.to_owned())),
            }
            if part.is_none() && extension != Some("md") {
                let strings = self.quoted.captures_iter(line).filter_map(|found| found.get(1));
                all.extend(strings.map(|found| (number, found.as_str().to_owned())));
            }
        }
        all.extend(current);
        all
    }
}

/// The text of a comment line.
fn comment<'a>(line: &'a str, marks: &[&str]) -> Option<&'a str> {
    marks.iter().find_map(|mark| line.strip_prefix(mark)).map(str::trim)
}

/// The sentence around a byte of a paragraph, at most about 200 bytes of it.
fn sentence(paragraph: &str, at: usize) -> &str {
    let start = paragraph[..at].rfind(". ").map_or(0, |end| end + 2);
    let end = paragraph[at..].find(". ").map_or(paragraph.len(), |end| at + end + 1);
    let boundary = |byte: &usize| paragraph.is_char_boundary(*byte);
    let from = (start.max(at.saturating_sub(100))..).find(boundary).unwrap_or(start);
    let to = (at..=end.min(at + 100)).rev().find(boundary).unwrap_or(end);
    &paragraph[from..to]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn places(file: &str, text: &str) -> Vec<String> {
        Counter::new().unwrap().count(file, text).places
    }

    #[test]
    fn a_habit_in_a_comment_is_shown_with_its_sentence_and_the_remedy() {
        let text = "fn f() {}\n// Reads the file. It is no\n// frame. Good.\n";
        assert_eq!(
            places("a.rs", text),
            ["a.rs:2: It is no frame.\n    is-no: is not a .., lacks: say what it is"]
        );
    }

    #[test]
    fn usual_phrases_and_code_do_not_count() {
        assert!(places("a.rs", "// It is no longer there.\nlet nobody = 1;\n").is_empty());
        assert!(places("a.md", "```rust\nnobody\n```\n").is_empty());
    }

    #[test]
    fn the_rows_of_a_table_are_sentences_of_their_own() {
        let text = "| nobody |\n| --- |\n| x |\n";
        let count = Counter::new().unwrap().count("a.md", text);
        assert_eq!((count.sentences, count.places.len()), (3, 1));
    }

    #[test]
    fn strings_and_pages_count() {
        assert_eq!(places("a.rs", "let a = \"nobody reads this\";\n").len(), 1);
        assert_eq!(places("a.md", "Text of\nwhat it is.\n").len(), 1);
        assert_eq!(places("a.toml", "# nobody\na = \"nobody is here\"\n").len(), 2);
    }
}
