//! What host, daemon and worker say to each other, and what both ends need to say it. Private to
//! the UROM kit: nothing here is NVIDIA's protocol, and releases of the kit may change it.
//!
//! There are two kinds of connection:
//!
//! - A **control stream** carries [`hello`], a [`proof`] where there is a key, and then [`control`]
//!   messages. It is TCP between host and daemon and between host and worker, and a Unix socket
//!   pair between daemon and worker. It exists before UCX is used, so both ends compare their UCX
//!   versions first. It also stays: the kernel closes it when a process dies, and its heartbeats
//!   show that a peer was stopped or cut off, which UCX alone does not notice.
//! - **A ring** or **UCX active messages** between host and worker carry commands and notifications
//!   as [`frame`]s. On one machine they share a [`ring`]; between machines, and where the host
//!   cannot hand descriptors over, frames travel over UCX in [envelopes](envelope).
//!
//! | module | what both ends use it for |
//! | --- | --- |
//! | [`key`], [`proof`] | the secret that opens a stream |
//! | [`stream`], [`relay`] | greeting; messages and heartbeats |
//! | [`patience`], [`awake`] | how long a silent peer is waited for; deadlines that ignore pauses |
//! | [`memory`], [`remote`] | memory that a host shares with a worker, and its use over UCX |
//! | [`mailbox`] | messages from control threads to a thread that polls |
//! | [`ucx_context`] | what a process needs before it uses UCX |

#![allow(missing_docs, reason = "the protocol is private to the kit")]

pub mod awake;
mod bounded;
mod bytes;
pub mod control;
pub mod domain;
pub mod envelope;
mod failure;
pub mod frame;
#[cfg(any(test, feature = "test-util"))]
#[doc(hidden)]
pub mod fuzzing;
pub mod hello;
pub mod key;
pub mod mailbox;
pub mod memory;
pub mod patience;
pub mod plain;
pub mod proof;
pub mod relay;
pub mod remote;
pub mod ring;
pub mod stream;
mod stuck;
mod sync;
pub mod ucx_context;
