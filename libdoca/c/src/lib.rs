//! `liburom_doca.so`: DOCA's interface for UROM in C.
//!
//! It holds the functions of three libraries: `libdoca_common`, `libdoca_urom` and `libdoca_argp`.
//! `cargo xtask install` makes a filter library for each of these names. A program is linked with
//! the filters, and the loader takes their functions from here. No other library of a process
//! exports these names.

mod argp;
mod core;
mod log;
mod table;
mod unsupported;

#[cfg(test)]
mod header_tests;
