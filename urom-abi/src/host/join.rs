//! How `libdoca_urom.so` and `libdoca_common.so` of this project work together: one private
//! function, two tables.
//!
//! A program finds DOCA's core functions in `libdoca_common`, which needs no UCX. What engines,
//! contexts, tasks, devices and memory maps are is in `libdoca_urom`, as there are no contexts but
//! UROM's: when it is loaded it hands over [`OfUrom`], and the functions of `libdoca_common` call
//! through that. It gets [`OfCommon`] for what it has to log.

use super::memory::MemoryApi;
use super::{Api, Task};
use crate::error::DocaError;
use crate::hash::Hash;
use crate::log::Line;

/// The name of [`Join`], which `libdoca_common.so` exports.
pub const SYMBOL: &str = "urom_libdoca_join";

/// What each table begins with, in every release. Both libraries come from one build; this notices
/// when they do not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Head {
    /// Of the whole table, in bytes.
    size: usize,
    /// A hash of the release and of the functions' names, in order.
    format: u64,
}

impl Head {
    /// That of a table of this release.
    pub const fn of<T>() -> Head {
        let mut hash = Hash::new().text(env!("CARGO_PKG_VERSION"));
        let mut i = 0;
        while i < Api::SYMBOLS.len() {
            hash = hash.text(Api::SYMBOLS[i]);
            i += 1;
        }
        let mut i = 0;
        while i < MemoryApi::SYMBOLS.len() {
            hash = hash.text(MemoryApi::SYMBOLS[i]);
            i += 1;
        }
        Head { size: size_of::<T>(), format: hash.value() }
    }
}

/// Joins a `libdoca_urom` that was just loaded. Both tables are static memory.
///
/// NULL when it does not fit: one of another format, or one too many, as a `libdoca_common` works
/// with one `libdoca_urom`.
pub type Join = unsafe extern "C" fn(urom: *const OfUrom) -> *const OfCommon;

/// What `libdoca_urom` hands over.
#[derive(Debug)]
#[repr(C)]
pub struct OfUrom {
    /// Of this table.
    pub head: Head,
    /// The functions that Rust hosts call, too.
    pub api: Api,
    /// Those that only C programs call.
    pub memory: MemoryApi,
    /// Releases a task of any kind. After an error it stays the caller's.
    pub task_release: unsafe extern "C" fn(*mut Task) -> DocaError,
    /// Called after the limits of SDK messages changed.
    pub limits_changed: extern "C" fn(),
}

/// What `libdoca_common` hands over.
#[derive(Debug)]
#[repr(C)]
pub struct OfCommon {
    /// Of this table.
    pub head: Head,
    /// Whether an SDK message of this level (DOCA's number) is written anywhere.
    pub wants: extern "C" fn(level: u32) -> bool,
    /// Writes an SDK message. Its source is a function, and it has no target.
    pub write: unsafe extern "C" fn(line: *const Line),
}

assert_layout!(Head, 16, align 8, { size @ 0, format @ 8 });
assert_layout!(OfCommon, 32, align 8, { head @ 0, wants @ 16, write @ 24 });
const API: usize = size_of::<Api>();
const BOTH: usize = API + size_of::<MemoryApi>();
assert_layout!(OfUrom, 32 + BOTH, align 8, {
    head @ 0, api @ 16, memory @ 16 + API, task_release @ 16 + BOTH,
    limits_changed @ 24 + BOTH,
});
