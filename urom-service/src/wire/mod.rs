//! What host, daemon and worker say to each other. Private to this project: nothing here is NVIDIA's protocol.
//!
//! Two kinds of connection, each for what it is good at:
//!
//! - a **control stream** (TCP between host and daemon and between host and worker, a Unix socket pair between daemon
//!   and worker) carries [`hello`], a [`proof`] where there is a key, and then [`control`] messages. It is there before UCX is, so both ends can compare
//!   UCX versions first, and it stays: the kernel closes it when a process dies, and heartbeats on it notice a peer
//!   that was stopped or cut off, which UCX alone does not.
//! - **UCX active messages** between host and worker carry commands and notifications as [`frame`]s, behind a [`pass`] where
//!   there is a key.

mod bounded;
mod bytes;
pub mod context;
pub mod control;
pub mod domain;
mod failure;
pub mod frame;
pub mod hello;
pub mod pass;
pub mod proof;
pub mod stream;
