//! One line.

use urom_abi::log::Level;

use crate::panic::CodeLocation;

#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) level: Level,
    pub(super) at: CodeLocation<'a>,
    /// The plugin's name.
    pub(super) source: &'a str,
    /// What in the plugin wrote it; empty for the plugin itself.
    pub(super) target: &'a str,
    pub(super) text: &'a str,
}

impl Line<'_> {
    /// The last part of its file's path.
    pub(super) fn file_name(&self) -> &str {
        self.at.file.rsplit('/').next().unwrap_or_default()
    }
}
