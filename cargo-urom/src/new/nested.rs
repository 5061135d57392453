//! Warns of nested workspaces. Cargo refuses a workspace as a member of another.

use std::path::Path;

use cargo_metadata::MetadataCommand;

use crate::output;

/// Warns of each outer workspace that includes `directory` as a member.
pub(super) fn warn(directory: &Path) {
    let Ok(directory) = directory.canonicalize() else { return };
    for outer in directory.ancestors().skip(1) {
        let manifest = outer.join("Cargo.toml");
        if manifest.is_file() && holds_another(&manifest, &directory) {
            let inner = directory.strip_prefix(outer).unwrap_or(&directory).display();
            output::warning(&format!(
                "the workspace {} takes {inner} for a member, and a workspace cannot be in another: \
                 add \"{inner}\" to `exclude` in its [workspace]",
                manifest.display()
            ));
        }
    }
}

/// Whether cargo refuses a workspace because of the inner workspace.
fn holds_another(manifest: &Path, inner: &Path) -> bool {
    let metadata = MetadataCommand::new().manifest_path(manifest).no_deps().exec();
    metadata.is_err_and(|error| {
        let said = error.to_string();
        // Cargo lists each root in a line of its own.
        let mut lines = said.lines().map(|line| Path::new(line.trim()));
        said.contains("multiple workspace roots") && lines.any(|line| line == inner)
    })
}
