//! Checks that only root and the service's user can replace a plugin.
//!
//! Every directory on the path counts, also of symbolic links. Sticky directories may be on the
//! path, but not contain plugins. The user's private group counts as the user, except for root or
//! with an access control list. Owners of this program's file and its parent directories count as
//! the user. In a user namespace without root, the number of unmapped users counts as root.

use std::fs::{self, Metadata};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use rustix::fs::lgetxattr;
use rustix::io::Errno;

const MAX_LINKS: usize = 40;

const GROUP_WRITES: u32 = 0o020;
const OTHERS_WRITE: u32 = 0o002;
/// Attribute of an access control list; the group's bits limit its users and groups.
const ACCESS_LIST: &str = "system.posix_acl_access";
/// In a directory with this bit, only a file's owner may remove or rename the file.
const STICKY: u32 = 0o1000;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Distrust {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("others than root and this service's user may write to {path} (mode {mode:04o}): {remedy}", remedy = remedy_of(*.mode), path = .path.display())]
    Writable { path: PathBuf, mode: u32 },
    #[error("{path} belongs to {whose}, who is neither root nor this service's user ({user}): {remedy}, or copy the plugins to a directory of user {user}", path = .path.display())]
    Owner { path: PathBuf, whose: String, user: u32, remedy: String },
}

/// Returns the remedy for a path that others can write. A sticky directory, like `/tmp`, is shared.
fn remedy_of(mode: u32) -> &'static str {
    match mode & STICKY {
        0 => {
            "keep plugins elsewhere, or run `chmod go-w` on it, which a file system without modes does not heed"
        }
        _ => "keep plugins in a directory of their own",
    }
}

/// The identity of this process, which decides whom it trusts.
#[derive(Debug)]
struct Truster {
    user: u32,
    group: u32,
    owners: Vec<u32>,
    /// The number of unmapped users in this namespace, unless it is a real user's.
    unmapped: Option<u32>,
}

pub(crate) fn check(path: &Path) -> Result<(), Distrust> {
    static OF_PROGRAM: LazyLock<Vec<u32>> = LazyLock::new(|| {
        std::env::current_exe().map(|program| owners(&program)).unwrap_or_default()
    });
    let user = rustix::process::geteuid().as_raw();
    let map = fs::read_to_string("/proc/self/uid_map").ok();
    let unmapped = map.as_deref().is_none_or(|map| !maps_all(map)).then(unmapped);
    let mut owners = [&[0, user], &OF_PROGRAM[..]].concat();
    if map.is_some_and(|map| !maps_root(&map)) {
        owners.extend(unmapped);
    }
    let group = rustix::process::getegid().as_raw();
    let truster = Truster { user, group, owners, unmapped };
    truster.walk(&std::path::absolute(path)?, true, &mut 0)
}

/// The owners of a file and its parents, without links, except the number of unmapped users.
fn owners(program: &Path) -> Vec<u32> {
    let (parts, unmapped) = (program.ancestors(), unmapped());
    let owners = parts.filter_map(|part| Some(fs::symlink_metadata(part).ok()?.uid()));
    owners.filter(|owner| *owner != unmapped).collect()
}

fn unmapped() -> u32 {
    let number = fs::read_to_string("/proc/sys/kernel/overflowuid");
    number.ok().and_then(|text| text.trim().parse().ok()).unwrap_or(65_534)
}

/// Returns whether a user map (first inner and outer numbers, count) contains the outer root.
fn maps_root(map: &str) -> bool {
    map.lines().any(|line| line.split_whitespace().nth(1) == Some("0"))
}

/// Returns whether a user map is the identity for all users.
fn maps_all(map: &str) -> bool {
    map.lines().any(|line| line.split_whitespace().eq(["0", "0", "4294967295"]))
}

impl Truster {
    /// Checks a path, or (`is_last` false) a part of one, with all its directories and links.
    fn walk(&self, path: &Path, is_last: bool, links: &mut usize) -> Result<(), Distrust> {
        for (above, step) in path.ancestors().enumerate().collect::<Vec<_>>().into_iter().rev() {
            let is_last = is_last && above == 0;
            let metadata = fs::symlink_metadata(step)?;
            if !metadata.is_symlink() {
                self.judge(step, &metadata, is_last)?;
                continue;
            }
            self.judge_owner(step, &metadata)?;
            *links += 1;
            if *links > MAX_LINKS {
                return Err(io::Error::from(Errno::LOOP).into());
            }
            let target = step.parent().unwrap_or(step).join(fs::read_link(step)?);
            self.walk(&target, is_last, links)?;
        }
        Ok(())
    }

    /// Checks the file itself, or (`is_last` false) a directory on the path.
    fn judge(&self, path: &Path, metadata: &Metadata, is_last: bool) -> Result<(), Distrust> {
        self.judge_owner(path, metadata)?;
        let mode = metadata.mode() & 0o7777;
        let passable = !is_last && metadata.is_dir() && mode & STICKY != 0;
        if !passable && self.do_others_write(path, metadata)? {
            return Err(Distrust::Writable { path: path.to_owned(), mode });
        }
        Ok(())
    }

    fn do_others_write(&self, path: &Path, metadata: &Metadata) -> io::Result<bool> {
        let mode = metadata.mode();
        Ok(mode & OTHERS_WRITE != 0
            || mode & GROUP_WRITES != 0 && (!self.is_own(metadata.gid()) || has_access_list(path)?))
    }

    fn judge_owner(&self, path: &Path, metadata: &Metadata) -> Result<(), Distrust> {
        let (owner, user) = (metadata.uid(), self.user);
        if self.owners.contains(&owner) {
            return Ok(());
        }
        let (whose, remedy) = if Some(owner) == self.unmapped {
            let whose = format!("a user that this user namespace does not map (shown as {owner})");
            (whose, "map that user into the namespace".to_owned())
        } else {
            let remedy =
                format!("run the service as user {owner} (in a container: `--user {owner}`)");
            (format!("user {owner}"), remedy)
        };
        Err(Distrust::Owner { path: path.to_owned(), whose, user, remedy })
    }

    fn is_own(&self, group: u32) -> bool {
        group != 0 && group == self.group && group == self.user
    }
}

fn has_access_list(path: &Path) -> io::Result<bool> {
    match lgetxattr(path, ACCESS_LIST, &mut [0_u8; 0][..]) {
        Ok(_) => Ok(true),
        // The file lacks a list, or the file system does not support lists.
        Err(Errno::NODATA | Errno::OPNOTSUPP) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
#[path = "trust_tests.rs"]
mod tests;
