//! A plugin's description, read from its file. The file is not trusted, and never loaded.

pub(crate) mod json;
pub(crate) mod sane;

use std::path::{Path, PathBuf};

use anyhow::{Result, anyhow};
use urom_abi::describe::section::Description;
use urom_service::plugins;

use crate::elf::{ElfFile, SYMBOLS, bytes_of};

#[derive(Debug)]
pub(crate) struct InspectedFile {
    pub(crate) path: PathBuf,
    pub(crate) elf: ElfFile,
    /// Description by this kit's macros; `None` for other plugins.
    pub(crate) description: Option<Description>,
}

impl InspectedFile {
    pub(crate) fn look(path: &Path) -> Result<InspectedFile> {
        let shown = path.display();
        let elf = ElfFile::read(&bytes_of(path)?)
            .map_err(|why| anyhow!("{shown} is not a plugin: {why}"))?;
        let description = elf.description.clone().transpose();
        let description =
            description.map_err(|why| anyhow!("{shown} cannot be understood: {why}"))?;
        Ok(InspectedFile { path: path.to_owned(), description, elf })
    }

    /// Returns a missing entry function, unless the description identifies the file as a plugin.
    pub(crate) fn missing(&self) -> Option<&'static str> {
        let known = self.description.is_some() || self.elf.sectionless;
        SYMBOLS.into_iter().find(|name| !known && self.elf.export(name).is_none())
    }

    pub(crate) fn plugin_name(&self) -> Result<String, String> {
        plugins::plugin_name(
            &self.path,
            self.description.map(|description| description.protocol.name),
        )
    }
}
