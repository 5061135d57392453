//! Finds the plugin, its file, and the description of its commands.

use std::path::Path;

use anyhow::{Context, Result, anyhow, bail};
use urom_abi::describe::Protocol;
use urom_service::plugins::PLUGIN_PATH_VARIABLE;

use crate::description::InspectedFile;
use crate::plugin_path;

#[derive(Debug)]
pub(super) struct CallTarget {
    pub(super) name: String,
    pub(super) file: Option<InspectedFile>,
}

impl CallTarget {
    /// Finds a plugin by its file or its name. With `remote`, a file is not required.
    pub(super) fn find(plugin: &str, remote: bool) -> Result<CallTarget> {
        let path = Path::new(plugin);
        if plugin.contains('/') || plugin.ends_with(".so") {
            let file = InspectedFile::look(path)?;
            let name = file.plugin_name().map_err(|why| {
                anyhow!("no service takes {}: {why}; rename it to NAME.so", path.display())
            })?;
            return Ok(CallTarget { name, file: Some(file) });
        }
        let variable = std::env::var_os(PLUGIN_PATH_VARIABLE).filter(|path| !path.is_empty());
        if let Some(file) = variable.as_deref().and_then(|path| plugin_path::find(path, plugin)) {
            return Ok(CallTarget { name: plugin.to_owned(), file: Some(file?) });
        }
        match (remote, variable) {
            (true, _) => Ok(CallTarget { name: plugin.to_owned(), file: None }),
            (false, Some(path)) => bail!(
                "there is no plugin `{plugin}` in {PLUGIN_PATH_VARIABLE}, which is {}: give the \
                 path of its .so, or the service that has it with --service ADDR",
                path.display()
            ),
            (false, None) => bail!(
                "there is nowhere to look for the plugin `{plugin}`: give the path of its .so, set \
                 {PLUGIN_PATH_VARIABLE}, or name the service that has it with --service ADDR"
            ),
        }
    }

    pub(super) fn protocol(&self, other: Option<&Path>) -> Result<&'static Protocol> {
        if let Some(other) = other {
            let description = InspectedFile::look(other)?.description.with_context(|| {
                format!(
                    "{} does not describe its commands: --protocol takes a .so that was built \
                     with this kit",
                    other.display()
                )
            })?;
            return Ok(description.protocol);
        }
        let Some(file) = &self.file else {
            bail!(
                "nothing on this machine describes the commands of `{}`: name a .so that does with \
                 --protocol FILE.so, or the directory of one in {PLUGIN_PATH_VARIABLE}, or give \
                 the command's bytes with --raw",
                self.name
            )
        };
        let description = file.description.with_context(|| {
            format!(
                "{} does not describe its commands, as plugins in C or without this kit's \
                 #[urom_plugin] do not: name a plugin of the same protocol that does with \
                 --protocol FILE.so, or give the command's bytes with --raw",
                file.path.display()
            )
        })?;
        Ok(description.protocol)
    }
}
