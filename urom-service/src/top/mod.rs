//! `uromd top`: a running service's commands and workers, as a live view or once as text.

#[cfg(feature = "top")]
mod screen;
mod source;
#[cfg(feature = "top")]
mod state;
mod table;
#[cfg(feature = "top")]
mod view;

use std::ffi::OsString;
use std::time::Duration;

use lexopt::{Arg, Parser, ValueExt};

use source::Source;
use table::{Choice, Tables};

use crate::commands::has_option;
use crate::operator::{columns, control_socket};

const WITHOUT_VIEW: &str = "\
this program was built without the live view. Add --once, or build it with the feature `top`: \
`cargo xtask install` does so for uromd, and `cargo install --path cargo-urom --features top` for \
cargo urom";

/// The parsed words after `uromd top`.
#[derive(Debug)]
pub(crate) struct Top {
    source: Source,
    interval: Duration,
    choice: Choice,
    once: bool,
}

impl Top {
    /// Reads the words after `uromd`; `None` if the first is not `top`.
    pub(crate) fn read(words: &[OsString]) -> Option<Result<Top, String>> {
        match words {
            [first, words @ ..] if first == "top" => Some(Top::with(words)),
            _ => None,
        }
    }

    fn with(words: &[OsString]) -> Result<Top, String> {
        let top = Top::parse(words).map_err(|error| error.to_string())?;
        if !cfg!(feature = "top") && !top.once {
            return Err(WITHOUT_VIEW.to_owned());
        }
        Ok(top)
    }

    fn parse(words: &[OsString]) -> Result<Top, lexopt::Error> {
        let mut top = Top {
            source: Source::Control(control_socket()),
            interval: Duration::from_secs(1),
            choice: Choice::default(),
            once: false,
        };
        let mut parser = Parser::from_args(words);
        while let Some(word) = parser.next()? {
            match word {
                word if !has_option("top", &word) => return Err(word.unexpected()),
                Arg::Long("control") => top.source = Source::Control(parser.value()?.into()),
                Arg::Long("service") => top.source = Source::Http(parser.value()?.string()?),
                Arg::Long("interval") => top.interval = parser.value()?.parse_with(interval)?,
                Arg::Long("filter") => top.choice.filter = parser.value()?.string()?,
                Arg::Long("sort") => {
                    parser.value()?.parse_with(|name| top.choice.sort_by(name))?;
                }
                Arg::Long("once") => top.once = true,
                other => return Err(other.unexpected()),
            }
        }
        Ok(top)
    }

    /// Returns the text to print. The live view returns an empty text when it is closed.
    ///
    /// # Errors
    /// The service does not answer at the start, or the live view lacks a terminal.
    pub(crate) fn run(self) -> Result<String, String> {
        let before = self.source.sample()?;
        #[cfg(feature = "top")]
        if !self.once {
            return screen::run(self, before).map(|()| String::new());
        }
        std::thread::sleep(self.interval);
        let now = self.source.sample()?;
        let mut tables = Tables::new(Some(&before), &now);
        self.choice.apply(&mut tables);
        let mut text = tables.head.join("\n") + "\n";
        for table in &tables.tables {
            let rows = table.rows.iter().map(|row| row.iter().map(ToString::to_string).collect());
            let heads: Vec<_> = table.columns.iter().map(|column| column.head).collect();
            columns(&mut text, &heads, rows.collect());
        }
        Ok(text)
    }
}

fn interval(text: &str) -> Result<Duration, &'static str> {
    let seconds = text.parse().ok().filter(|seconds| (0.1..=3600.0).contains(seconds));
    seconds.map(Duration::from_secs_f64).ok_or("expected seconds from 0.1 to 3600")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(words: &[&str]) -> Option<Result<Top, String>> {
        Top::read(&words.iter().map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_wrong_ones_are_named() {
        let words = ["top", "--once", "--service", "dpu", "--interval=0.5", "--sort", "p99"];
        let top = read(&words).unwrap().unwrap();
        assert_eq!(top.interval, Duration::from_millis(500));
        assert_eq!(top.source, Source::Http("dpu".to_owned()));
        assert!(read(&["status"]).is_none() && read(&["--once", "top"]).is_none());
        for (words, parts) in [
            (&["--interval", "0"][..], &["0.1"][..]),
            (&["--interval", "nan"], &["nan", "3600"]),
            (&["--interval", "soon"], &["soon"]),
            (&["--sort", "speed"], &["speed", "per-second", "in-flight", "plugins"]),
            (&["--sort"], &["--sort"]),
            (&["--json"], &["--json"]),
            (&["now"], &["now"]),
        ] {
            let error = read(&[&["top", "--once"], words].concat()).unwrap().unwrap_err();
            assert!(parts.iter().all(|part| error.contains(part)), "{words:?}: {error}");
        }
    }

    #[test]
    fn the_live_view_is_a_feature() {
        assert_eq!(read(&["top"]).unwrap().is_ok(), cfg!(feature = "top"));
    }
}
