//! `libdoca_urom.so`: DOCA's C interface over this project's service.
//!
//! Nothing is decided here. [`host`] exports the functions that Rust hosts call through the table, under their C names; the
//! other modules hold what only C programs call. Every exported function that could panic is guarded: no panic leaves it.

mod argp;
mod device;
mod error;
mod host;
mod log;
mod task;
mod unsupported;
mod version;
