//! Writes each plugin's C header beside it, or checks that the committed ones are what it would write.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use urom_abi::describe::{self, c_header};
use urom_abi::protocol::Protocol;

use crate::bindings::first_difference;

/// The folder of each plugin that is there to be used, and its protocol.
const PLUGINS: &[(&str, &describe::Protocol)] = &[
    ("plugins/graph-rs", graph_protocol::Protocol::DESCRIPTION),
    ("plugins/sandbox-rs", sandbox_protocol::Protocol::DESCRIPTION),
];

/// Writes `PLUGIN/include/NAME.h` for each plugin; with `check`, compares instead and fails when one is out of date.
pub(crate) fn run(root: &Path, check: bool) -> Result<()> {
    let mut stale = Vec::new();
    for (folder, protocol) in PLUGINS {
        let (path, fresh) = (header_path(root, folder, protocol), c_header(protocol));
        if !check {
            let directory = path.parent().context("a header lies in a directory")?;
            fs::create_dir_all(directory)
                .with_context(|| format!("making {}", directory.display()))?;
            fs::write(&path, fresh).with_context(|| format!("writing {}", path.display()))?;
            println!("wrote {}", path.display());
            continue;
        }
        match fs::read_to_string(&path) {
            Ok(found) => match first_difference(&found, &fresh) {
                Some(line) => {
                    stale.push(format!("{} (first difference in line {line})", path.display()))
                }
                None => println!("{} is up to date", path.display()),
            },
            Err(error) => stale.push(format!("{} ({error})", path.display())),
        }
    }
    if !stale.is_empty() {
        bail!(
            "not the C headers of the protocols as they are:\n  {}\nrun: cargo xtask headers",
            stale.join("\n  ")
        );
    }
    Ok(())
}

/// Where the committed headers lie.
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
    fn a_header_that_was_written_is_up_to_date_until_it_is_changed() {
        let root = tempfile::tempdir().expect("a temporary directory");
        let missing = run(root.path(), true).expect_err("nothing is there yet").to_string();
        assert!(
            missing.contains("worker_graph.h") && missing.ends_with("run: cargo xtask headers"),
            "{missing}"
        );
        run(root.path(), false).expect("it can be written");
        run(root.path(), true).expect("it was just written");
        let (folder, protocol) = PLUGINS[0];
        let path = header_path(root.path(), folder, protocol);
        let changed = fs::read_to_string(&path).expect("it was written").replacen('\n', "\n\n", 1);
        fs::write(&path, changed).expect("it can be written");
        let stale = run(root.path(), true).expect_err("a line was added").to_string();
        assert!(stale.contains("first difference in line 2"), "{stale}");
    }

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
