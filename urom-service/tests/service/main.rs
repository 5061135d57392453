//! The service from outside: `uromd` as a process, its workers, C plugins, and a raw client.

mod commands;
#[path = "../plugins/compile.rs"]
mod compile;
mod daemon;
mod discovery;
mod domains;
mod embedded;
mod support;
mod workers;
