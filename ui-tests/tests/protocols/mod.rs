//! Protocols with payloads, each in a module of its own.

#![allow(dead_code, reason = "each test program uses another part")]

pub(crate) mod forms;
pub(crate) mod sandbox;
