//! `libdoca_common.so`: DOCA's core in C, without UCX.
//!
//! Log, errors and the release are this library's own. Engines, contexts, tasks, buffers, memory
//! maps and devices are in `libdoca_urom.so`, as only UROM has contexts: [`core`](self::core) has
//! their functions, which go there through one private table ([`join`]). Every exported function
//! that could panic is guarded. No other library of a process exports these names.

mod core;
mod join;
mod log;
mod unsupported;

#[cfg(test)]
mod header_tests;
