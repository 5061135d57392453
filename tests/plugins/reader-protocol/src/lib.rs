//! Commands that look up domain members and read their buffers through UCX.
#![allow(missing_docs, reason = "the crate is for tests: names describe the rest")]

use urom_abi::{urom_command, urom_notification};

#[urom_command(plugin = "worker_reader", version = 1)]
#[derive(Debug, Clone, Copy)]
pub enum Command {
    #[urom(reply = Found)]
    Look { member: u64, va: u64 },
    /// Reads a part of a member's buffer by its remote key. Its memory handle contains the buffer's
    /// address and length, 8 bytes each, and the address of its UCX worker.
    #[urom(reply = ReadDone)]
    Read { member: u64, va: u64, offset: u64, length: u64 },
}

#[urom_notification]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Notification {
    Found {
        /// Index of the member's buffer.
        segment: u64,
        /// [checksum] of the plugin's address in the member.
        address: u64,
        handle: u64,
        key: u64,
    },
    ReadDone {
        sum: u64,
    },
}

/// A checksum that depends on the bytes' order (FNV-1a).
pub fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| {
        (sum ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3)
    })
}
