//! A plugin's description, taken from its file. The file is read and never loaded, and may be anybody's.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail};
use urom_abi::describe::section::Description;
use urom_abi::describe::{Count, Field, Messages, Protocol};

use crate::elf::ElfFile;

/// How long a message can be, in bytes, before a description of it is taken for damage.
const MOST: usize = 1 << 26;

/// A plugin's file, as far as it can be known without running it.
#[derive(Debug)]
pub(crate) struct PluginFile {
    pub(crate) path: PathBuf,
    pub(crate) elf: ElfFile,
    /// What this kit's macros put into the files they make; `None` for a plugin of another origin.
    pub(crate) description: Option<Description>,
}

impl PluginFile {
    /// Reads a file.
    ///
    /// # Errors
    /// When there is none, when it is no shared object, or its description is damaged.
    pub(crate) fn look(path: &Path) -> Result<PluginFile> {
        let shown = path.display();
        let bytes = fs::read(path).with_context(|| format!("{shown} cannot be read"))?;
        let elf = ElfFile::read(&bytes).map_err(|why| anyhow!("{shown} is no plugin: {why}"))?;
        let description = elf.description.map(|found| {
            let description = found.with_context(|| format!("{shown} cannot be understood"))?;
            sane(description.protocol).map_err(|why| anyhow!("{shown} cannot be understood: {why}"))?;
            Ok::<_, anyhow::Error>(description)
        });
        Ok(PluginFile { path: path.to_owned(), description: description.transpose()?, elf })
    }

    /// What a service calls the plugin: the file's name without `.so`; also without `lib`, as cargo names what it builds,
    /// where the description has that name.
    pub(crate) fn plugin_name(&self) -> Result<String> {
        let stem = self.path.file_stem().and_then(|stem| stem.to_str()).filter(|stem| !stem.is_empty());
        let stem =
            stem.with_context(|| format!("{} has no name that a service can use", self.path.display()))?;
        let described = self.description.map(|description| description.protocol.name);
        Ok(match (stem.strip_prefix("lib"), described) {
            (Some(inner), Some(name)) if inner == name => name.to_owned(),
            _ => stem.to_owned(),
        })
    }

    /// The description.
    ///
    /// # Errors
    /// A sentence with what to do when there is none.
    pub(crate) fn described(&self) -> Result<Description> {
        if let Some(description) = self.description {
            return Ok(description);
        }
        bail!(
            "{} does not describe its commands, as plugins in C or without this kit's #[urom_plugin] do not: name a \
             plugin of the same protocol that does with --protocol FILE.so, or give the command's bytes with --raw",
            self.path.display()
        )
    }
}

/// Refuses what would make this program ask for more memory than any message takes, or write outside of one.
fn sane(protocol: &Protocol) -> Result<(), String> {
    for messages in [&protocol.commands, &protocol.notifications] {
        let fits =
            |field: &Field| field.offset.checked_add(field.ty.size()).is_some_and(|end| end <= messages.len);
        let fields =
            messages.header.iter().chain(messages.variants.iter().flat_map(|variant| variant.fields));
        let payloads = messages.variants.iter().flat_map(|variant| variant.payloads);
        let small = payloads.clone().all(|payload| {
            let count = if let Count::Fixed(count) = payload.count { count.max(1) } else { 1 };
            payload.ty.size().checked_mul(count).is_some_and(|bytes| bytes <= MOST) && count <= MOST
        });
        let Messages { name, len, tag, .. } = messages;
        if *len > MOST || tag.size() > *len || !small || !fields.clone().all(fits) {
            return Err(format!(
                "its description of {} says what no message can be; build the plugin anew",
                printable(name)
            ));
        }
    }
    Ok(())
}

/// A text of somebody else's for a terminal: one line, without control characters.
pub(crate) fn printable(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}
