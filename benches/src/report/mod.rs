//! What is made of the figures: a summary for programs, a page and a table for people.

mod page;
mod record;
mod summary;
pub(crate) mod table;
mod text;

use std::path::PathBuf;

use anyhow::{Context, Result};

pub(crate) use page::page;
pub(crate) use record::{record, too_few};
pub(crate) use summary::Summary;

/// `target/bench`, of the build tree that this program lies in.
///
/// # Errors
/// When the system does not say where this program is.
pub(crate) fn directory() -> Result<PathBuf> {
    let profile = urom_tests::profile_directory()?;
    Ok(profile.parent().context("a profile's directory lies in the build tree")?.join("bench"))
}
