//! The control path of DOCA's RDMO application (`urom_rdmo.h`, version 1): a 64-bit tag, addresses
//! and keys inline.

use urom_abi::{Payload, urom_command, urom_notification};

/// What a host can ask of the RDMO plugin.
#[urom_command(plugin = "worker_rdmo", version = 1)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command<'a> {
    /// Introduces a client, with the address of its own UCX worker.
    #[urom(reply = ClientInitialized)]
    ClientInit {
        /// The client's number, which its active messages carry.
        id: u64,
        /// The host's UCX worker address.
        #[urom(inline)]
        addr: &'a [u8],
    },
    /// Makes a receive queue for an initiator.
    #[urom(reply = RqCreated)]
    RqCreate {
        /// The initiator's UCX worker address.
        #[urom(inline)]
        addr: &'a [u8],
    },
    /// Ends a receive queue.
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
        /// The packed remote key.
        #[urom(inline)]
        packed_rkey: &'a [u8],
        /// The packed memory handle; empty without one.
        #[urom(inline)]
        packed_memh: &'a [u8],
    },
    /// Forgets a memory region.
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
        /// The plugin's UCX worker address.
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
