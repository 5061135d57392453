//! Whether anybody but root and the service's user could put code in a plugin's place.
//!
//! Every directory on the way to a plugin counts, those of symbolic links too: who may write to one of them can put
//! something else where the next one is. In a directory with the sticky bit, such as `/tmp`, they cannot, so it may be on
//! the way to a directory of plugins, or to a single file; but it is no directory of plugins, as everybody could add one.
//!
//! A group whose number is the user's own counts as the user: it is what distributions make for each user, and then let
//! write. Root's does not, because it may have other members. Where there is an access control list, the group's bits are
//! those of everybody whom the list names.

use std::ffi::{OsStr, OsString};
use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::lgetxattr;
use rustix::io::Errno;

/// How many links one path may lead through, as for the system.
const MAX_LINKS: usize = 40;

/// The bits by which a group and others may write.
const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// What the kernel calls a list of users and groups with rights of their own.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// By which only owners take away what lies in a directory.
const STICKY: u32 = 0o1000;

/// Why nothing is loaded from a place.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Distrust {
    /// It cannot be looked at.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// Others may write there.
    #[error("others than root and this service's user may write to {path} (mode {mode:04o}): run `chmod go-w` on it, or keep plugins elsewhere", path = .path.display())]
    Writable { path: PathBuf, mode: u32 },
    /// It is somebody else's.
    #[error("{path} belongs to user {owner}, who is neither root nor this service's user ({user}): run `chown` on it, or keep plugins elsewhere", path = .path.display())]
    Owner { path: PathBuf, owner: u32, user: u32 },
}

/// Who this process is, as far as that decides whom it trusts.
#[derive(Debug, Clone, Copy)]
struct Truster {
    user: u32,
    group: u32,
}

/// Checks a directory or file, and everything on the way to it.
pub(crate) fn check(path: &Path) -> Result<(), Distrust> {
    let truster =
        Truster { user: rustix::process::geteuid().as_raw(), group: rustix::process::getegid().as_raw() };
    truster.walk(path)
}

impl Truster {
    fn walk(self, path: &Path) -> Result<(), Distrust> {
        let mut resolved = PathBuf::from("/");
        // The last component first.
        let mut ahead = steps(&std::path::absolute(path)?);
        let mut links = 0;
        self.judge(&resolved, &fs::symlink_metadata(&resolved)?, ahead.is_empty())?;
        while let Some(step) = ahead.pop() {
            if step == OsStr::new("..") {
                resolved.pop();
                continue;
            }
            let next = resolved.join(&step);
            let metadata = fs::symlink_metadata(&next)?;
            if metadata.is_symlink() {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::from(Errno::LOOP).into());
                }
                self.judge_owner(&next, &metadata)?;
                let target = fs::read_link(&next)?;
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                ahead.extend(steps(&target));
                continue;
            }
            self.judge(&next, &metadata, ahead.is_empty())?;
            resolved = next;
        }
        // A link may have led up again, to a directory that so far was only on the way.
        self.judge(&resolved, &fs::symlink_metadata(&resolved)?, true)
    }

    /// Judges the place itself, or (`is_last` false) a directory on the way to it.
    fn judge(self, path: &Path, metadata: &Metadata, is_last: bool) -> Result<(), Distrust> {
        self.judge_owner(path, metadata)?;
        let mode = metadata.mode() & 0o7777;
        let passable = !is_last && metadata.is_dir() && mode & STICKY != 0;
        if !passable && self.do_others_write(path, metadata)? {
            return Err(Distrust::Writable { path: path.to_owned(), mode });
        }
        Ok(())
    }

    fn do_others_write(self, path: &Path, metadata: &Metadata) -> io::Result<bool> {
        let mode = metadata.mode();
        if mode & OTHERS_WRITE != 0 {
            return Ok(true);
        }
        Ok(mode & GROUP_WRITES != 0 && (!self.is_own(metadata.gid()) || has_access_list(path)?))
    }

    fn judge_owner(self, path: &Path, metadata: &Metadata) -> Result<(), Distrust> {
        let (owner, user) = (metadata.uid(), self.user);
        if owner != 0 && owner != user {
            return Err(Distrust::Owner { path: path.to_owned(), owner, user });
        }
        Ok(())
    }

    /// Whether a group is the user's private one.
    fn is_own(self, group: u32) -> bool {
        group != 0 && group == self.group && group == self.user
    }
}

/// Whether users or groups are named there that have rights of their own.
fn has_access_list(path: &Path) -> io::Result<bool> {
    // Its length only.
    match lgetxattr(path, ACCESS_LIST, &mut [0; 0]) {
        Ok(_) => Ok(true),
        // No list, or a file system without any.
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The components of a path, the last one first.
fn steps(path: &Path) -> Vec<OsString> {
    let named = path.components().filter_map(|component| match component {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut steps: Vec<OsString> = named.collect();
    steps.reverse();
    steps
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
