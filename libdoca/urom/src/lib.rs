//! `libdoca_urom.so`: DOCA UROM's C interface over this project's service.
//!
//! Nothing is decided here. [`host`] exports the functions that Rust hosts call through the table,
//! under their C names; `join` hands those of DOCA's core to `libdoca_common.so`, which exports
//! them.

mod host;
mod join;
