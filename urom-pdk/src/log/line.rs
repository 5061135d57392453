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
