//! The RDMO plugin's commands and notifications, byte for byte those of DOCA's RDMO application
//! (`urom_rdmo.h`, version 1), and in [`data`] the messages of its data path.
//!
//! RDMO is remote direct memory operations: a host registers memory with the plugin, and other
//! processes, the *initiators*, have the plugin append to it, scatter to it and flush it. They send
//! active messages to the plugin's UCX worker and need nothing of UROM.
//!
//! Both sides use this crate: the plugin implements [`Handler`], a host sends commands through
//! [`Client`], and initiators make the messages of [`data`].

pub mod data;

use urom_abi::{Payload, urom_command, urom_notification};

/// What a host can ask of the RDMO plugin.
#[urom_command(plugin = "worker_rdmo", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Introduces the host as a client, one for each connection. The plugin reaches memory that is
    /// registered with UCX through the host's UCX worker, which the host must then progress; shared
    /// memory needs no progress.
    #[urom(reply = ClientInitialized)]
    ClientInit {
        /// The client's number, which initiators' messages carry; another for each client.
        id: u64,
        /// The address of the host's UCX worker, as `ucp_worker_get_address` gives it.
        #[urom(inline)]
        addr: &'a [u8],
    },
    /// Makes a receive queue for an initiator, before its first message.
    #[urom(reply = RqCreated)]
    RqCreate {
        /// The address of the initiator's UCX worker, as `ucp_worker_get_address` gives it.
        #[urom(inline)]
        addr: &'a [u8],
    },
    /// Ends a receive queue. Messages that came before are still carried out.
    #[urom(reply = RqDestroyed)]
    RqDestroy {
        /// The queue.
        rq_id: u64,
    },
    /// Registers a memory region of the host.
    #[urom(reply = MrRegistered)]
    MrReg {
        /// Where the region begins.
        va: u64,
        /// How long it is, in bytes.
        len: u64,
        /// The packed remote key of `ucp_rkey_pack`. Ignored, and best empty, when `packed_memh` is
        /// an export of shared memory.
        #[urom(inline)]
        packed_rkey: &'a [u8],
        /// The exported memory handle, `ucp_memh_pack`'s, empty without one; or what `Mmap::export`
        /// gives for memory that the host shares with the worker.
        #[urom(inline)]
        packed_memh: &'a [u8],
    },
    /// Forgets a memory region, once everything written to it has arrived, pointers too.
    #[urom(reply = MrDeregistered)]
    MrDereg {
        /// The key that registering it gave.
        rkey: u64,
    },
}

/// What the RDMO plugin answers.
#[urom_notification]
#[derive(Debug, PartialEq)]
pub enum Notification {
    /// The client is known.
    ClientInitialized {
        /// The address of the plugin's UCX worker, for initiators.
        #[urom(inline)]
        addr: Payload,
    },
    /// The queue is there.
    RqCreated {
        /// Its number: 0, 1, 2, and so on for each client.
        rq_id: u64,
    },
    /// The queue is gone.
    RqDestroyed {
        /// Its number.
        rq_id: u64,
    },
    /// The region is registered.
    MrRegistered {
        /// The key by which active messages name it.
        rkey: u64,
    },
    /// The region is forgotten.
    MrDeregistered {
        /// Its key.
        rkey: u64,
    },
}
