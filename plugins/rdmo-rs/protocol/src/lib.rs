//! The RDMO plugin's commands and notifications, byte for byte as in DOCA's RDMO application
//! (`urom_rdmo.h`, version 1), and in [`data`] the messages of its data path.
//!
//! RDMO means remote direct memory operations: a host registers memory with the plugin, and other
//! processes, the *initiators*, append to it, scatter to it and flush it through the plugin. They
//! send active messages to the plugin's UCX worker and do not need UROM.
//!
//! Both sides use this crate: the plugin implements [`Handler`], a host sends commands through
//! [`Client`], and initiators make the messages of [`data`].

pub mod data;

use urom_abi::{Payload, urom_command, urom_notification};

/// The commands of the RDMO plugin.
#[urom_command(plugin = "worker_rdmo", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Registers the host as a client, one for each connection. The plugin accesses memory
    /// registered with UCX through the host's UCX worker, which the host must then progress; shared
    /// memory needs no progress.
    #[urom(reply = ClientInitialized)]
    ClientInit {
        /// The client's unique number, which initiators' messages carry.
        id: u64,
        /// The address of the host's UCX worker, from `ucp_worker_get_address`.
        #[urom(inline)]
        addr: &'a [u8],
    },
    /// Makes a receive queue for an initiator, before its first message.
    #[urom(reply = RqCreated)]
    RqCreate {
        /// The address of the initiator's UCX worker, from `ucp_worker_get_address`.
        #[urom(inline)]
        addr: &'a [u8],
    },
    /// Ends a receive queue. Earlier messages are still executed.
    #[urom(reply = RqDestroyed)]
    RqDestroy {
        /// The queue.
        rq_id: u64,
    },
    /// Registers a memory region of the host.
    #[urom(reply = MrRegistered)]
    MrReg {
        /// The start address of the region.
        va: u64,
        /// The length in bytes.
        len: u64,
        /// The packed remote key of `ucp_rkey_pack`. Ignored, and preferably empty, when
        /// `packed_memh` is an export of shared memory.
        #[urom(inline)]
        packed_rkey: &'a [u8],
        /// The exported memory handle of `ucp_memh_pack`; empty without one; or the result of
        /// `Mmap::export` for memory that the host shares with the worker.
        #[urom(inline)]
        packed_memh: &'a [u8],
    },
    /// Deregisters a memory region, after all writes to it have arrived, including pointers.
    #[urom(reply = MrDeregistered)]
    MrDereg {
        /// The key in the answer to its registration.
        rkey: u64,
    },
}

/// The answers of the RDMO plugin.
#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The client is registered.
    ClientInitialized {
        /// The address of the plugin's UCX worker, for initiators.
        #[urom(inline)]
        addr: Payload,
    },
    /// The queue exists.
    RqCreated {
        /// The queue's number: 0, 1, 2, and so on for each client.
        rq_id: u64,
    },
    /// The queue is removed.
    RqDestroyed {
        /// The queue's number.
        rq_id: u64,
    },
    /// The region is registered.
    MrRegistered {
        /// The key of the region in active messages.
        rkey: u64,
    },
    /// The region is deregistered.
    MrDeregistered {
        /// The region's key.
        rkey: u64,
    },
}
