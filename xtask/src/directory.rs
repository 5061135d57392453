//! Writes files to a directory in use: each appears complete, or not at all.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TransferMode {
    /// Copies files.
    Copy,
    /// Makes hard links if possible, else copies: programs find their files by their own path.
    Link,
}

pub(crate) struct DirectoryWriter {
    root: PathBuf,
    transfer: TransferMode,
    written: BTreeSet<PathBuf>,
}

impl DirectoryWriter {
    pub(crate) fn new(root: &Path, transfer: TransferMode) -> Self {
        Self { root: root.to_owned(), transfer, written: BTreeSet::new() }
    }

    /// Puts the file `from` at the relative path `to`. All users may read or execute a copy.
    pub(crate) fn file(&mut self, from: &Path, to: impl AsRef<Path>) -> Result<()> {
        let transfer = self.transfer;
        let source = fs_err::metadata(from)?;
        let is_there = |there: fs::Metadata| same(&there, &source);
        if transfer == TransferMode::Link
            && fs::symlink_metadata(self.root.join(to.as_ref())).is_ok_and(is_there)
        {
            self.written.insert(to.as_ref().to_owned());
            return Ok(());
        }
        self.put(to.as_ref(), |partial| match transfer {
            // Follows symbolic links.
            TransferMode::Link => fs::hard_link(fs::canonicalize(from)?, partial)
                .or_else(|_| fs::copy(from, partial).map(drop)),
            TransferMode::Copy => {
                let mode = if source.mode() & 0o100 == 0 { 0o644 } else { 0o755 };
                fs::copy(from, partial).and_then(|_| set_mode(partial, mode))
            }
        })
        .with_context(|| format!("taking it from {}", from.display()))
    }

    /// Writes a file that all users may read.
    pub(crate) fn text(&mut self, text: &str, to: impl AsRef<Path>) -> Result<()> {
        self.put(to.as_ref(), |partial| {
            fs::write(partial, text).and_then(|()| set_mode(partial, 0o644))
        })
    }

    pub(crate) fn symlink(&mut self, target: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<()> {
        self.put(to.as_ref(), |partial| symlink(target.as_ref(), partial))
    }

    /// Whether `path` is a directory, not a link.
    pub(crate) fn has_directory(&self, path: impl AsRef<Path>) -> bool {
        fs::symlink_metadata(self.root.join(path)).is_ok_and(|there| there.is_dir())
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// Returns the relative paths of all written files.
    pub(crate) fn written(&self) -> &BTreeSet<PathBuf> {
        &self.written
    }

    pub(crate) fn remove_others(&self) -> Result<()> {
        let files = files_below(&self.root)?;
        let mut others = files.iter().filter(|file| !self.written.contains(*file));
        others.try_for_each(|file| Ok(fs_err::remove_file(self.root.join(file))?))
    }

    fn put(&mut self, to: &Path, make: impl FnMut(&Path) -> io::Result<()>) -> Result<()> {
        let path = self.root.join(to);
        let directory = path.parent().context("a file lies in a directory")?;
        make_directory(directory)?;
        let made = tempfile::Builder::new().prefix(".partial-").make_in(directory, make);
        made.and_then(|made| Ok(made.into_temp_path().persist(&path)?))
            .with_context(|| format!("could not write {}", path.display()))?;
        self.written.insert(to.to_owned());
        Ok(())
    }
}

/// Makes a directory and its parents, accessible to all users. The error names an obstructing file.
pub(crate) fn make_directory(directory: &Path) -> Result<()> {
    let missing: Vec<&Path> = directory.ancestors().take_while(|path| !path.exists()).collect();
    let open =
        |()| missing.iter().filter(|path| path.is_dir()).try_for_each(|path| set_mode(path, 0o755));
    fs::create_dir_all(directory).and_then(open).with_context(|| {
        let file = directory.ancestors().find(|path| path.exists() && !path.is_dir());
        match file {
            Some(file) => format!("{} is in the way: it is not a directory", file.display()),
            None => format!("could not create {}", directory.display()),
        }
    })
}

/// Removes a directory, if it exists. Removes links in it, but not their targets.
pub(crate) fn remove_directory(directory: &Path) -> Result<()> {
    match fs_err::remove_dir_all(directory) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}

pub(crate) fn files_below(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut open = vec![PathBuf::new()];
    while let Some(inside) = open.pop() {
        for entry in fs_err::read_dir(directory.join(&inside))? {
            let entry = entry?;
            let path = inside.join(entry.file_name());
            if entry.file_type()?.is_dir() { open.push(path) } else { found.push(path) }
        }
    }
    found.sort();
    Ok(found)
}

/// Ignores the umask, so all users can use root's installation.
fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, fs::Permissions::from_mode(mode))
}

fn same(a: &fs::Metadata, b: &fs::Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let file = directory.path().join("source");
        fs::write(&file, "new").expect("a file");
        (directory, file)
    }

    #[test]
    fn an_existing_file_is_replaced_and_never_written_to() {
        for transfer in [TransferMode::Copy, TransferMode::Link] {
            let (directory, file) = source();
            let root = directory.path().join("root");
            make_directory(&root.join("lib")).expect("a directory");
            fs::write(root.join("lib/a"), "old").expect("a file");
            let in_use = fs::File::open(root.join("lib/a")).expect("it is there");
            for _ in 0..2 {
                let mut writer = DirectoryWriter::new(&root, transfer);
                writer.file(&file, "lib/a").expect("it can be written");
                writer.symlink("a", "lib/b").expect("it can be written");
                writer.text("text", "c/d").expect("it can be written");
                assert_eq!(
                    files_below(&root).expect("readable"),
                    Vec::from_iter(writer.written().clone())
                );
            }
            assert_eq!(fs::read_to_string(root.join("lib/b")).expect("a link to a"), "new");
            assert_eq!(io::read_to_string(in_use).expect("its file is still there"), "old");
            let linked = same(
                &fs::metadata(&file).expect("there"),
                &fs::metadata(root.join("lib/a")).expect("there"),
            );
            assert_eq!(linked, transfer == TransferMode::Link);
        }
    }

    #[test]
    fn a_copied_file_is_readable_by_all_users_and_a_linked_file_keeps_its_mode() {
        let mode = |path: &Path| fs::metadata(path).expect("it is there").mode() & 0o777;
        let (directory, file) = source();
        let root = directory.path().join("root");
        for (own, copied) in [(0o600, 0o644), (0o700, 0o755), (0o664, 0o644)] {
            set_mode(&file, own).expect("it is the test's");
            let mut writer = DirectoryWriter::new(&root, TransferMode::Copy);
            writer.file(&file, "bin/a").expect("it can be written");
            writer.text("text", "lib/pkgconfig/b").expect("it can be written");
            let modes = ["", "bin", "lib", "lib/pkgconfig", "lib/pkgconfig/b", "bin/a"]
                .map(|path| mode(&root.join(path)));
            assert_eq!(modes, [0o755, 0o755, 0o755, 0o755, 0o644, copied]);
            DirectoryWriter::new(&root, TransferMode::Link)
                .file(&file, "bin/a")
                .expect("it can be written");
            assert_eq!(mode(&file), own);
        }
        set_mode(&root, 0o700).expect("it is the test's");
        make_directory(&root.join("more")).expect("a directory");
        assert_eq!(mode(&root), 0o700, "it was there before");
    }

    #[test]
    fn unwritten_files_are_removed() {
        let (directory, file) = source();
        let root = directory.path().join("root");
        make_directory(&root.join("lib/deep")).expect("a directory");
        for other in ["old", "lib/deep/old"] {
            fs::write(root.join(other), "").expect("a file");
        }
        let mut writer = DirectoryWriter::new(&root, TransferMode::Link);
        writer.file(&file, "lib/a").expect("it can be written");
        writer.remove_others().expect("they can be removed");
        assert_eq!(files_below(&root).expect("readable"), [Path::new("lib/a")]);
    }

    #[test]
    fn errors_name_the_path_and_what_is_in_the_way() {
        let (directory, file) = source();
        let mut writer = DirectoryWriter::new(&file, TransferMode::Copy);
        let error = format!("{:#}", writer.text("text", "lib/a").expect_err("the root is a file"));
        assert!(error.contains(&format!("{} is in the way", file.display())), "{error}");
        let mut writer = DirectoryWriter::new(directory.path(), TransferMode::Copy);
        let error = format!(
            "{:#}",
            writer.file(Path::new("/no/such"), "a").expect_err("there is no such file")
        );
        assert!(error.contains("/no/such"), "{error}");
        fs::create_dir(directory.path().join("d")).expect("a directory");
        let error =
            format!("{:#}", writer.text("text", "d").expect_err("a directory has the name"));
        assert!(error.contains("/d"), "{error}");
        assert_eq!(
            fs::read_dir(directory.path()).expect("readable").count(),
            2,
            "nothing half done is left"
        );
    }
}
