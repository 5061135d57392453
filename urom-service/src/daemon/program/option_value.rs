//! The value of an option: words of the command line, or an entry of the configuration file.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::path::PathBuf;

use lexopt::Parser;
use toml::Spanned;
use toml::de::DeValue;

use super::config_file::ConfigFile;

/// A value that is not read yet. All errors name the option.
pub(super) struct OptionValue<'a> {
    pub(super) option: &'a str,
    pub(super) source: Source<'a>,
}

pub(super) enum Source<'a> {
    Words {
        parser: &'a mut Parser,
        /// Whether the option stood before.
        is_again: bool,
    },
    Entry(Entry<'a>),
}

#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) file: &'a ConfigFile,
    /// The position of the key.
    pub(super) key: usize,
    pub(super) value: &'a Spanned<DeValue<'a>>,
}

/// The types of the file that an option takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Number,
    Text,
    NumberOrText,
}

impl OptionValue<'_> {
    pub(super) fn flag(self) -> Result<bool, String> {
        match &self.source {
            Source::Words { is_again, .. } => once(self.option, *is_again).map(|()| true),
            Source::Entry(entry) => {
                let found = entry.value.get_ref().as_bool();
                found.ok_or_else(|| entry.wrong_kind(self.option, "true or false"))
            }
        }
    }

    pub(super) fn path(self) -> Result<PathBuf, String> {
        let path =
            |path: &OsStr| if path.is_empty() { Err("expected a path") } else { Ok(path.into()) };
        self.read_bytes(Kind::Text, path)
    }

    /// Reads a program and its arguments: a line that `split` reads, or an array of the file.
    pub(super) fn command<E: Display>(
        self,
        split: impl FnOnce(&str) -> Result<Vec<OsString>, E>,
    ) -> Result<Vec<OsString>, String> {
        match self.source {
            Source::Entry(entry) if entry.value.get_ref().is_array() => {
                let words = entry.elements(self.option, |word| Ok::<_, String>(word.to_owned()))?;
                // Each word keeps its spaces and quotation marks.
                let line = shlex::try_join(words.iter().map(String::as_str)).unwrap_or_default();
                split(&line).map_err(|why| entry.wrong(self.option, &why))
            }
            _ => self.read(Kind::Text, split),
        }
    }

    /// Adds to a list, which the file has as an array. The command line's replaces the file's.
    pub(super) fn add_to<T, E: Display>(
        self,
        list: &mut Vec<T>,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<(), String> {
        let option = self.option;
        match self.source {
            Source::Entry(entry) => *list = entry.elements(option, read)?,
            Source::Words { parser, is_again } => {
                if !is_again {
                    list.clear();
                }
                let source = Source::Words { parser, is_again: false };
                list.push(OptionValue { option, source }.read(Kind::Text, read)?);
            }
        }
        Ok(())
    }

    pub(super) fn read<T, E: Display>(
        self,
        kind: Kind,
        read: impl FnOnce(&str) -> Result<T, E>,
    ) -> Result<T, String> {
        self.read_bytes(kind, |value| {
            read(value.to_str().ok_or("it is not UTF-8")?).map_err(|why| why.to_string())
        })
    }

    /// Reads a value that may not be UTF-8.
    pub(super) fn read_bytes<T, E: Display>(
        self,
        kind: Kind,
        read: impl FnOnce(&OsStr) -> Result<T, E>,
    ) -> Result<T, String> {
        let option = self.option;
        let entry = match self.source {
            Source::Words { .. } => None,
            Source::Entry(entry) => Some(entry),
        };
        let value = self.words(kind)?;
        read(&value).map_err(|why| {
            let value = value.display();
            match entry {
                None => format!("invalid value '{value}' for '--{option}': {why}"),
                Some(entry) => {
                    entry.at(&format_args!("invalid value '{value}' for '{option}': {why}"))
                }
            }
        })
    }

    fn words(self, kind: Kind) -> Result<OsString, String> {
        match self.source {
            Source::Words { parser, is_again } => {
                once(self.option, is_again)?;
                if let Some(value) = parser.optional_value() {
                    return Ok(value);
                }
                let value = parser.value().map_err(|error| error.to_string())?;
                match value.as_encoded_bytes().starts_with(b"--") {
                    true => Err(format!("missing argument for option '--{}'", self.option)),
                    false => Ok(value),
                }
            }
            Source::Entry(entry) => match kind.text_of(entry.value.get_ref()) {
                // Arguments of programs, variables and paths cannot contain it.
                Some(text) if text.contains('\0') => Err(entry.wrong(self.option, &"a zero byte")),
                Some(text) => Ok(text.into()),
                None => Err(entry.wrong_kind(self.option, kind.name())),
            },
        }
    }

    pub(super) fn unknown(self) -> String {
        let option = self.option;
        match self.source {
            Source::Words { .. } => format!("unknown option '--{option}'"),
            Source::Entry(Entry { file, key, .. }) => {
                file.at(key, &format_args!("unknown option '{option}'"))
            }
        }
    }
}

fn once(option: &str, is_again: bool) -> Result<(), String> {
    if is_again { Err(format!("the option '--{option}' is given twice")) } else { Ok(()) }
}

impl Entry<'_> {
    fn elements<T, E: Display>(
        self,
        option: &str,
        read: impl Fn(&str) -> Result<T, E>,
    ) -> Result<Vec<T>, String> {
        let elements = self.value.get_ref().as_array();
        let elements = elements.ok_or_else(|| self.wrong_kind(option, "an array of strings"))?;
        let element = |value| {
            let source = Source::Entry(Entry { value, ..self });
            OptionValue { option, source }.read(Kind::Text, &read)
        };
        elements.iter().map(element).collect()
    }

    fn at(self, why: &dyn Display) -> String {
        self.file.at(self.value.span().start, why)
    }

    fn wrong(self, option: &str, why: &dyn Display) -> String {
        self.at(&format_args!("invalid value for '{option}': {why}"))
    }

    fn wrong_kind(self, option: &str, expected: &str) -> String {
        let found = self.value.get_ref().type_str();
        self.at(&format_args!("'{option}' takes {expected}, and this is of type {found}"))
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Number => "a number",
            Kind::Text => "a string",
            Kind::NumberOrText => "a number or a string",
        }
    }

    fn text_of(self, value: &DeValue<'_>) -> Option<String> {
        match value {
            DeValue::String(text) if self != Kind::Number => Some(text.clone().into_owned()),
            DeValue::Integer(number) if self != Kind::Text => {
                let decimal = i128::from_str_radix(number.as_str(), number.radix());
                Some(decimal.map_or_else(|_| number.to_string(), |decimal| decimal.to_string()))
            }
            DeValue::Float(number) if self != Kind::Text => Some(number.as_str().to_owned()),
            _ => None,
        }
    }
}
