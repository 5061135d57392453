//! A service's plugin path: files and directories, separated by `;`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use urom_service::plugins::{plugin_path_entries, stale};

use crate::description::InspectedFile;

pub(crate) fn only(entry: &Path) -> Result<PathBuf> {
    // Links are not resolved: the link's name is the plugin's.
    let path = std::path::absolute(entry)?;
    ensure!(
        !path.as_os_str().as_bytes().contains(&b';'),
        "{} has a `;` in its path, which separates the entries of a plugin path: move or rename it",
        path.display()
    );
    Ok(path)
}

/// Refuses a file that is older than its sources, because services do not load it.
pub(crate) fn fresh(file: &Path) -> Result<()> {
    match stale(file) {
        Some((why, hint)) => bail!("{} is {why}: {hint}", file.display()),
        None => Ok(()),
    }
}

/// Finds the first file of a plugin in a path, as a service does. Fails if that file is unreadable.
pub(crate) fn find(path: &OsStr, name: &str) -> Option<Result<InspectedFile>> {
    // Both names that `plugins::plugin_name` accepts, in the order of a service.
    let mut names = [format!("{name}.so"), format!("lib{}.so", name.replace('-', "_"))];
    names.sort();
    let mut files = plugin_path_entries(path).into_iter().flat_map(|entry| match entry.is_dir() {
        true => names.iter().map(|name| entry.join(name)).collect(),
        false => vec![entry],
    });
    files.find_map(|file| {
        let fits = names.iter().any(|name| file.file_name() == Some(OsStr::new(name)));
        if !fits || !file.is_file() {
            return None;
        }
        match InspectedFile::look(&file) {
            Ok(looked) => {
                looked.plugin_name().is_ok_and(|found| found == name).then_some(Ok(looked))
            }
            Err(error) => (file.file_stem() == Some(OsStr::new(name))).then_some(Err(error)),
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_separator_cannot_be_in_an_entry() {
        assert_eq!(
            only(Path::new("/plugins/worker_graph.so")).unwrap(),
            Path::new("/plugins/worker_graph.so")
        );
        assert!(only(Path::new("worker_graph.so")).unwrap().is_absolute());
        assert!(
            only(Path::new("/a;b/worker_graph.so")).unwrap_err().to_string().contains("separates")
        );
    }
}
