//! Parses the texts of `uromd`'s help, which its parsers are tested against.

/// Of `uromd` and its operators' commands, without `uromd`'s options.
pub(crate) const COMMANDS: &str = include_str!("../../../urom-service/src/commands.txt");
/// The options of `uromd`.
pub(crate) const OPTIONS: &str =
    include_str!("../../../urom-service/src/daemon/program/options.txt");

/// A paragraph of a text: a heading or a command, its description and its options.
#[derive(Default)]
pub(crate) struct Section {
    pub title: &'static str,
    pub about: String,
    pub options: Vec<OptionHelp>,
}

pub(crate) struct OptionHelp {
    pub short: Option<char>,
    pub long: &'static str,
    pub value: Option<&'static str>,
    pub text: String,
}

pub(crate) fn sections(text: &'static str) -> impl Iterator<Item = Section> {
    text.split("\n\n").map(|paragraph| {
        let mut section = Section::default();
        for line in paragraph.lines() {
            let words = line.trim_start();
            match (line.len() - words.len(), section.options.last_mut()) {
                (0, _) => section.title = words,
                (2, _) => section.options.push(option(words)),
                (_, None) => add(&mut section.about, words),
                (_, Some(option)) => add(&mut option.text, words),
            }
        }
        section
    })
}

/// Parses a line such as `-m --max-msg-size BYTES`.
fn option(line: &'static str) -> OptionHelp {
    let mut option = OptionHelp { short: None, long: "", value: None, text: String::new() };
    for word in line.split(' ') {
        match (word.strip_prefix("--"), word.strip_prefix('-')) {
            (Some(long), _) => option.long = long,
            (None, Some(short)) => option.short = short.chars().next(),
            (None, None) => option.value = Some(word),
        }
    }
    option
}

fn add(text: &mut String, words: &str) {
    if !text.is_empty() {
        text.push(' ');
    }
    text.push_str(words);
}
