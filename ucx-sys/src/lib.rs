//! Raw bindings to UCX's protocol layer (`ucp`), made from the headers of UCX 1.16 and committed.
//!
//! UCX appends to its structures and guards new fields with field masks, so these bindings run with
//! every UCX from 1.16 on. No value from C can be undefined behaviour in Rust: every enumeration is
//! an integer, and [`ucs_status_t`], one byte in C, is a transparent one-byte integer.
//! `src/macros.rs` has the C headers' macros and inline functions. The safe layer above is the crate
//! `ucx`.
//!
//! # Finding the library at run time
//! The crate `ucx-probe` finds UCX for the build, or lists the paths that it tried. Every program and
//! shared object that is linked with a UCX outside the loader's own path must name it:
//! `ucx_probe::emit_rpath` does that in the build script of such a package.

#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
compile_error!("ucx-sys has bindings for x86_64 and aarch64 Linux: see `cargo xtask bindings`");

#[allow(
    missing_docs,
    non_camel_case_types,
    clippy::missing_safety_doc,
    clippy::allow_attributes_without_reason,
    reason = "generated: the names are C's, and UCX's own manual documents them"
)]
mod bindings;
mod macros;
mod zeroed;

pub use bindings::*;
pub use macros::*;
pub use zeroed::Zeroed;
