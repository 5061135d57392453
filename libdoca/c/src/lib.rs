//! `liburom_doca.so`: DOCA's interface for UROM in C (`libdoca_common`, `libdoca_urom`,
//! `libdoca_argp`). Programs link with filter libraries of these names, made by `cargo xtask
//! install`. No other library of a process exports these names.

mod argp;
mod core;
mod log;
mod table;
mod unsupported;

#[cfg(test)]
mod header_tests;
