//! Tests of the service from outside: `uromd`, its workers, C plugins, and a raw client.

mod address_file;
mod commands;
#[path = "../plugins/compile.rs"]
mod compile;
mod configuration;
mod daemon;
mod discovery;
mod domains;
mod embedded;
mod keys;
mod limits;
mod listening;
mod loading;
mod logs;
mod manager;
mod metrics;
mod namespaces;
mod operators;
mod recordings;
mod reports;
mod rings;
mod support;
mod top;
mod traces;
mod unread;
mod workers;
