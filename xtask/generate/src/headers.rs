//! Writes or compares the C header of each plugin.

use std::path::{Path, PathBuf};

use anyhow::Result;
use urom_abi::describe::{self, c_header};
use urom_abi::protocol::Protocol;

use crate::committed::Committed;

/// The folder of each plugin for use, and its protocol.
const PLUGINS: &[(&str, &describe::Protocol)] = &[
    ("plugins/allreduce-rs", allreduce_protocol::Protocol::DESCRIPTION),
    ("plugins/graph-rs", graph_protocol::Protocol::DESCRIPTION),
    ("plugins/rdma-rs", rdma_protocol::Protocol::DESCRIPTION),
    ("plugins/rdmo-rs", rdmo_protocol::Protocol::DESCRIPTION),
    ("plugins/sandbox-rs", sandbox_protocol::Protocol::DESCRIPTION),
];

/// Writes `PLUGIN/include/NAME.h` for each plugin; with `check`, compares instead.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let mut files = Committed::new(check);
    for (folder, protocol) in PLUGINS {
        files.put(&header_path(root, folder, protocol), &c_header(protocol))?;
    }
    files.finish("the unchanged protocols", "headers")
}

fn header_path(root: &Path, folder: &str, protocol: &describe::Protocol) -> PathBuf {
    root.join(folder).join("include").join(format!("{}.h", protocol.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plugin_that_is_there_to_be_used_has_a_header() {
        let plugins = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plugins");
        let folders = fs_err::read_dir(plugins).expect("the workspace has plugins");
        let mut folders: Vec<String> = folders
            .map(|entry| entry.expect("an entry").path())
            .filter(|folder| folder.join("plugin/Cargo.toml").is_file())
            .map(|folder| format!("plugins/{}", folder.file_name().unwrap().display()))
            .collect();
        folders.sort();
        let listed: Vec<_> = PLUGINS.iter().map(|(folder, _)| *folder).collect();
        assert_eq!(
            listed, folders,
            "PLUGINS in xtask/generate/src/headers.rs has a line for each plugin, in order"
        );
    }
}
