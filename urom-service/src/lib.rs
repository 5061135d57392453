//! A DOCA UROM service: the daemon, its workers, and the host library that talks to them.

pub mod wire;
