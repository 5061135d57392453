//! Parsed log lines.

use anyhow::{Context, Result, ensure};

/// `[HH:MM:SS:uuuuuu][id][name][INF][file:line][function] text`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) location: String,
    pub(crate) function: String,
    pub(crate) text: String,
}

impl Line {
    pub(crate) fn parse(line: &str) -> Result<Line> {
        let mut rest = line;
        let mut next = || {
            let (field, behind) = rest.strip_prefix('[')?.split_once(']')?;
            rest = behind;
            Some(field)
        };
        let mut field =
            || next().map(str::to_owned).with_context(|| format!("not a log line: {line:?}"));
        let (time, id, name, level, location, function) =
            (field()?, field()?, field()?, field()?, field()?, field()?);
        let text = rest.strip_prefix(' ').with_context(|| format!("no text: {line:?}"))?.to_owned();
        let digits: Vec<_> = time.split(':').map(str::len).collect();
        let is_time =
            time.chars().all(|c| c.is_ascii_digit() || c == ':') && digits == [2, 2, 2, 6];
        ensure!(is_time, "not a time: {line:?}");
        Ok(Line { id: id.parse()?, name, level, location, function, text })
    }

    pub(crate) fn all(text: &str) -> Result<Vec<Line>> {
        ensure!(text.is_empty() || text.ends_with('\n'), "the last line is cut: {text:?}");
        text.lines().map(Line::parse).collect()
    }
}

pub(crate) fn said(lines: &[Line]) -> Vec<(&str, &str)> {
    lines.iter().map(|line| (line.level.as_str(), line.text.as_str())).collect()
}

/// Lines that programs and plugins log at each level, most severe first.
pub(crate) const EACH: [(&str, &str); 6] = [
    ("CRT", "this is crit"),
    ("ERR", "this is err"),
    ("WRN", "this is warn"),
    ("INF", "this is info"),
    ("DBG", "this is dbg"),
    ("TRC", "this is trc"),
];
