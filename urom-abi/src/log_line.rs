//! Log lines of hosts, daemon, workers and plugins:
//! `[HH:MM:SS:uuuuuu][process or thread][name][INF][file:line][function] text`.
//! UTC, because local time requires file reads and locks, and hosts' and DPUs' lines are compared.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::log::Level;

#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    pub level: Level,
    /// A path; the line shows its last part. An empty path omits the bracket.
    pub file: &'a str,
    /// Line number; 0 when unknown.
    pub line: u32,
    /// `None` omits the last bracket.
    pub function: Option<&'a str>,
}

impl Origin<'_> {
    /// Returns the last part of the path; `None` if it is empty.
    pub fn file_name(&self) -> Option<&str> {
        self.file.rsplit('/').next().filter(|file| !file.is_empty())
    }

    pub fn location(&self) -> Option<String> {
        Some(format!("{}:{}", self.file_name()?, self.line))
    }

    /// Formats a line with the current time. `id` is the number of a process or a thread.
    pub fn line(&self, id: u32, name: &str, text: &str) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        self.line_at(now, id, name, text)
    }

    fn line_at(&self, since_epoch: Duration, id: u32, name: &str, text: &str) -> String {
        let (second, micro) = (since_epoch.as_secs() % 86_400, since_epoch.subsec_micros());
        let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
        self.line_behind(&format!("[{hour:02}:{minute:02}:{second:02}:{micro:06}]"), id, name, text)
    }

    /// Formats a line that begins with `start` instead of DOCA's time.
    pub fn line_behind(&self, start: &str, id: u32, name: &str, text: &str) -> String {
        let mut line = format!("{start}[{id}][{name}][{}]", self.level.tag());
        for part in [self.location().as_deref(), self.function].into_iter().flatten() {
            line.extend(["[", part, "]"]);
        }
        line.extend([" ", text.trim_end_matches(['\n', '\r'])]);
        // Control characters in external text must not break the line.
        let mut line: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        line.push('\n');
        line
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOON: Duration = Duration::new(19_000 * 86_400 + 12 * 3600 + 61, 7_000);

    fn origin(file: &str, function: Option<&'static str>) -> String {
        let origin = Origin { level: Level::Warning, file, line: 12, function };
        origin.line_at(NOON, 34, "DOCA", "five links")
    }

    #[test]
    fn a_line_has_docas_form() {
        let line = origin("../samples/graph.c", Some("start"));
        assert_eq!(line, "[12:01:01:000007][34][DOCA][WRN][graph.c:12][start] five links\n");
        assert_eq!(
            origin("graph.c", None),
            "[12:01:01:000007][34][DOCA][WRN][graph.c:12] five links\n"
        );
        assert_eq!(origin("", None), "[12:01:01:000007][34][DOCA][WRN] five links\n");
    }

    #[test]
    fn control_characters_stay_on_their_line() {
        let origin =
            Origin { level: Level::Crit, file: "a\nb.c", line: 1, function: Some("\u{1b}[31mred") };
        let line = origin.line_at(Duration::ZERO, 1, "x\ty", "one\ntwo\r\u{85}\0three\n\r\n");
        assert_eq!(line, "[00:00:00:000000][1][x y][CRT][a b.c:1][ [31mred] one two   three\n");
    }

    #[test]
    fn a_text_of_line_ends_only_is_an_empty_line() {
        let origin = Origin { level: Level::Info, file: "f.c", line: 1, function: None };
        assert_eq!(
            origin.line_at(Duration::ZERO, 1, "n", "\n\n"),
            "[00:00:00:000000][1][n][INF][f.c:1] \n"
        );
    }
}
