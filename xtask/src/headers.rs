//! Writes each plugin's C header beside it, or checks that the committed ones are what it would
//! write.

use std::path::{Path, PathBuf};

use anyhow::Result;
use urom_abi::describe::{self, c_header};
use urom_abi::protocol::Protocol;

use crate::committed::Committed;

/// The folder of each plugin that is there to be used, and its protocol.
const PLUGINS: &[(&str, &describe::Protocol)] = &[
    ("plugins/graph-rs", graph_protocol::Protocol::DESCRIPTION),
    ("plugins/rdma-rs", rdma_protocol::Protocol::DESCRIPTION),
    ("plugins/rdmo-rs", rdmo_protocol::Protocol::DESCRIPTION),
    ("plugins/sandbox-rs", sandbox_protocol::Protocol::DESCRIPTION),
];

/// Writes `PLUGIN/include/NAME.h` for each plugin; with `check`, compares instead and fails when
/// one is out of date.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let mut files = Committed::new(check);
    for (folder, protocol) in PLUGINS {
        files.put(&header_path(root, folder, protocol), &c_header(protocol))?;
    }
    files.finish("the protocols as they are", "headers")
}

pub(crate) fn committed(root: &Path) -> Vec<PathBuf> {
    PLUGINS.iter().map(|(folder, protocol)| header_path(root, folder, protocol)).collect()
}

fn header_path(root: &Path, folder: &str, protocol: &describe::Protocol) -> PathBuf {
    root.join(folder).join("include").join(format!("{}.h", protocol.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::{Purpose, Workspace};

    #[test]
    fn every_plugin_that_is_there_to_be_used_has_a_header() {
        let workspace = Workspace::load().expect("cargo knows this workspace");
        let plugins = workspace.plugins();
        let used = plugins.iter().filter(|plugin| plugin.purpose == Purpose::Use);
        let mut used = used.map(|plugin| plugin.name).collect::<Vec<_>>();
        let mut listed = PLUGINS.iter().map(|(_, protocol)| protocol.name).collect::<Vec<_>>();
        used.sort_unstable();
        listed.sort_unstable();
        let missing = used.iter().filter(|name| !listed.contains(name)).collect::<Vec<_>>();
        assert!(
            missing.is_empty(),
            "{missing:?} have no C header: add a line for each to PLUGINS in xtask/src/headers.rs, and its protocol to \
             [dependencies] in xtask/Cargo.toml"
        );
        assert_eq!(listed, used, "the table PLUGINS has a line for what is no plugin");
    }
}
