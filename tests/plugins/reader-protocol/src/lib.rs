//! Commands that look members of a domain up, and read their buffers through UCX.

use urom_abi::{urom_command, urom_notification};

/// What a test can ask of the reader plugin.
#[urom_command(plugin = "worker_reader", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// Asks what the worker knows of a member's buffer.
    #[urom(reply = Found)]
    Look {
        /// The member's id in the domain.
        member: u64,
        /// An address in the buffer.
        va: u64,
    },
    /// Reads a part of a member's buffer with its key, which is a `ucx::Window`.
    #[urom(reply = ReadDone)]
    Read {
        /// The member's id in the domain.
        member: u64,
        /// An address in the buffer.
        va: u64,
        /// Where the part begins, from the buffer's start.
        offset: u64,
        /// How many bytes it has.
        length: u64,
    },
}

/// What the reader plugin answers.
#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    /// Answers `Look`.
    Found {
        /// Which of the member's buffers it is.
        segment: u64,
        /// The [checksum] of this plugin's address in the member.
        address: u64,
        /// The checksum of the buffer's memory handle.
        handle: u64,
        /// The checksum of the buffer's key.
        key: u64,
    },
    /// Answers `Read`.
    ReadDone {
        /// The checksum of the bytes.
        sum: u64,
    },
}

/// Tells different bytes apart, and the same bytes in another order (FNV-1a).
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
