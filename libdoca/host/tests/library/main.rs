//! The host library with a real daemon, workers and a C plugin, and with the embedded service.

#![allow(unreachable_pub, reason = "a test does not have an outside")]

#[macro_use]
mod support;

mod builds;
#[path = "../../../../urom-service/tests/plugins/compile.rs"]
mod compile;
mod contexts;
mod domain_support;
mod domains;
mod events;
mod exchanges;
mod extensions;
mod fake;
mod keys;
mod logged;
mod lookups;
mod loss;
mod one_sided;
mod processes;
mod progress;
mod queries;
mod rally;
mod reasons;
mod states;
mod tasks;
