//! The protocol between host, daemon and worker, and code shared by its ends. Private to the UROM
//! kit: it is not NVIDIA's protocol, and releases of the kit may change it.
//!
//! There are two kinds of connection:
//!
//! - A **control stream** carries [`hello`], a [`proof`] if there is a key, and then [`control`]
//!   messages. It is TCP between host and daemon and between host and worker, and a Unix socket
//!   pair between daemon and worker. It exists before UCX is used, so both ends compare their UCX
//!   versions first. It stays open: the kernel closes it when a process dies, and its heartbeats
//!   detect a stopped or disconnected peer, which UCX alone does not.
//! - **A ring** or **UCX active messages** carry commands and notifications between host and worker
//!   as [`frame`]s. On one machine the ends share a [`ring`]; between machines, or if the host
//!   cannot hand over descriptors, frames travel over UCX in [envelopes](envelope).
//!
//! | [`stream`], [`relay`] | handshake; messages and heartbeats |
//! | --- | --- |
//! | [`key`], [`proof`] | the secret that opens a stream |
//! | [`peer_timeout`], [`awake`] | the timeout for a silent peer; deadlines that ignore pauses |
//! | [`memory`], [`remote`] | memory that a host shares with a worker, and its use over UCX |
//! | [`trace`] | the worker's part of a command's trace |
//! | [`mailbox`] | messages from control threads to a thread that polls |
//! | [`ucx_context`] | UCX settings of a process |

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
mod hung_call;
pub mod key;
pub mod mailbox;
pub mod memory;
pub mod peer_timeout;
pub mod plain;
pub mod proof;
pub mod relay;
pub mod remote;
pub mod ring;
pub mod stream;
mod sync;
pub mod trace;
pub mod ucx_context;
