//! The program with the sandbox plugin, and checks of its output.

use anyhow::Result;
use urom_tests::PluginDirectory;
use urom_tests::program::Ended;

pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_ping_pong");

pub(crate) const MIB: &str = "1048576";

pub(crate) fn sandbox() -> Result<PluginDirectory> {
    PluginDirectory::with(&["worker_sandbox"])
}

/// Checks the table's texts, and that its figures are plausible.
pub(crate) fn has_table(ended: Ended, expected: [&str; 5]) {
    let lines = ended.succeeded();
    assert_eq!(lines.len(), 2, "{lines:?}");
    let cells: Vec<_> = lines[1].split_whitespace().collect();
    assert_eq!(cells[..5], expected);
    let figures: Vec<f64> = cells[5..].iter().filter_map(|cell| cell.parse().ok()).collect();
    assert_eq!(figures.len(), 3, "{lines:?}");
    assert!(0.0 < figures[0] && figures.is_sorted(), "{figures:?}");
}
