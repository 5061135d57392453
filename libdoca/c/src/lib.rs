//! `liburom_doca.so`: DOCA's interface for UROM in C.
//!
//! It contains `libdoca_common`, `libdoca_urom` and `libdoca_argp`. `cargo xtask install` creates a
//! filter library for each name; programs link with the filters, and the loader resolves their
//! functions here. No other library of a process exports these names.

mod argp;
mod core;
mod log;
mod table;
mod unsupported;

#[cfg(test)]
mod header_tests;
