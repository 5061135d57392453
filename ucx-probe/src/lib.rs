//! Finds UCX 1.16 or newer for a target. Does not run any of the target's programs.
//!
//! The search takes the first UCX in these locations, in this order:
//!
//! 1. `UROM_UCX_DIR_<target>` (the triple with `_` for `-`), then `UROM_UCX_DIR`: the absolute path
//!    of a directory with `lib/libucp.so` and `include/ucp/api/ucp_version.h`. A directory that
//!    does not fit ends the search. Only `UROM_UCX_DIR` may hold a UCX for another machine; it is
//!    then skipped.
//! 2. `pkg-config ucx`. For a foreign target it must be set up: with `PKG_CONFIG_ALLOW_CROSS=1`,
//!    `PKG_CONFIG_SYSROOT_DIR`, or a variable for the target such as
//!    `PKG_CONFIG_PATH_aarch64_unknown_linux_gnu`.
//! 3. Debian's directories of the target's architecture, such as `/usr/lib/aarch64-linux-gnu`.
//! 4. The newest `ucx/<version>-<arch>/libucx` in the build tree or a directory above it, and in
//!    the `target` directory of the clone that this crate was compiled from. `cargo xtask setup`
//!    unpacks the PyPI package `libucx-cu12` there.
//!
//! # In a build script
//! Each program and shared object linked with UCX needs an rpath if UCX is outside the loader's
//! default path. A build script can set it only for its own package. Such a package therefore needs
//! `ucx-probe` in `[build-dependencies]` and this `build.rs`:
//!
//! ```no_run
//! # #[expect(clippy::needless_doctest_main, reason = "it is a whole file")]
//! fn main() {
//!     ucx_probe::emit_rpath();
//! }
//! ```
//!
//! All build scripts of a build find the same UCX. They run again when a file or variable they read
//! changes. They find a newer UCX unpacked beside the current one after `cargo clean -p ucx-sys`.
//!
//! # In a tool
//! ```
//! match ucx_probe::Search::new("aarch64-unknown-linux-gnu").find() {
//!     Ok(found) => println!("UCX {:?} in {:?}", found.version, found.directory),
//!     Err(missing) => eprintln!("{missing}"),
//! }
//! ```

mod advice;
mod build_tree;
mod found;
mod locations;
mod pkg_config;
mod script;
mod search;
#[cfg(test)]
mod test_trees;
mod unpacked;

pub use advice::NotFound;
pub use found::{Found, Source};
pub use script::{emit_link, emit_rpath, rpath};
pub use search::{Search, of_target};

/// The oldest supported UCX version. `ucx-sys`'s bindings are generated from its headers.
pub const OLDEST: (u32, u32) = (1, 16);

/// The version of the PyPI package `libucx-cu12` that `cargo xtask setup` unpacks and error
/// messages recommend. Use the same UCX version for host and service.
pub const PINNED: &str = "1.22.0";

/// The environment variable with the path of a UCX. [`of_target`] returns its name for one target.
pub const VARIABLE: &str = "UROM_UCX_DIR";
