//! Parsed log lines.

use anyhow::{Context, Result, ensure};

/// `[HH:MM:SS:uuuuuu][id][name][INF][file:line][function] text`; a line of a service begins with
/// date, time and zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) id: u32,
    pub(crate) name: String,
    pub(crate) level: String,
    pub(crate) location: String,
    pub(crate) function: String,
    pub(crate) text: String,
}

/// DOCA's time.
fn is_time(text: &str) -> bool {
    let digits: Vec<_> = text.split(':').map(str::len).collect();
    text.chars().all(|c| c.is_ascii_digit() || c == ':') && digits == [2, 2, 2, 6]
}

fn is_date(text: &str) -> bool {
    let form: String = text.chars().map(|c| if c.is_ascii_digit() { '0' } else { c }).collect();
    form == "0000-00-00T00:00:00.000000Z"
}

impl Line {
    /// Parses a line of a program that uses `doca_log`.
    pub(crate) fn parse(line: &str) -> Result<Line> {
        Line::parse_with(is_time, line)
    }

    /// Returns the lines of a service that name a function: lines of plugins.
    pub(crate) fn of_service(text: &str) -> Vec<Line> {
        text.lines().filter_map(|line| Line::parse_with(is_date, line).ok()).collect()
    }

    fn parse_with(is_time: impl Fn(&str) -> bool, line: &str) -> Result<Line> {
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
        ensure!(is_time(&time), "not a time: {line:?}");
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
