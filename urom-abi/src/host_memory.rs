//! Memory that a host shares with a worker of this kit. In C: `urom_extensions.h` and
//! `urom_plugin_extension.h`. Plugins use [`WorkerServices`](crate::extension::WorkerServices).

use std::ffi::{c_char, c_int, c_void};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{DocaError, DocaStatus};
use crate::memory::Access;

/// The path between a worker and a host's memory (`enum urom_memory_path`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct MemoryPath(pub u32);

impl MemoryPath {
    /// The memory is mapped in the worker's process and accessed directly.
    pub const MAPPED: MemoryPath = MemoryPath(0);
    /// The kernel copies from and to the host's process (`process_vm_readv`, `process_vm_writev`).
    /// Atomic operations are messages to the host's library.
    pub const PROCESS: MemoryPath = MemoryPath(1);
    /// The host's library accesses the memory and sends the bytes over UCX.
    pub const NETWORK: MemoryPath = MemoryPath(2);

    pub fn name(self) -> &'static str {
        match self {
            MemoryPath::MAPPED => "mapped",
            MemoryPath::PROCESS => "process",
            MemoryPath::NETWORK => "network",
            _ => "unknown",
        }
    }
}

/// An open part of a host's memory, valid until the plugin closes it, even after the host left.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct HostMemory {
    pub size: usize,
    pub handle: *mut c_void,
    /// Its address in this process, or NULL. The host may write to it at any time.
    pub mapping: *mut u8,
    pub address: u64,
    pub len: u64,
    /// The host's permissions, bits of `enum doca_access_flag`. Without
    /// `DOCA_ACCESS_FLAG_PCI_READ_WRITE` the mapping is read-only.
    pub access: u32,
    pub path: MemoryPath,
}

impl HostMemory {
    pub const NONE: HostMemory = HostMemory {
        size: size_of::<HostMemory>(),
        handle: std::ptr::null_mut(),
        mapping: std::ptr::null_mut(),
        address: 0,
        len: 0,
        access: 0,
        path: MemoryPath::MAPPED,
    };

    /// Returns `len` bytes of it at `offset`.
    ///
    /// # Errors
    /// `INVALID_VALUE` for bytes outside it.
    pub fn part(&self, offset: u64, len: u64) -> Result<HostMemory, DocaError> {
        if offset.checked_add(len).is_none_or(|end| end > self.len) {
            return Err(DocaError::INVALID_VALUE);
        }
        let mapping = match self.mapping.is_null() {
            true => self.mapping,
            false => self.mapping.wrapping_add(offset as usize),
        };
        Ok(HostMemory { mapping, address: self.address + offset, len, ..*self })
    }

    /// Checks an operation on `len` bytes at `offset`.
    ///
    /// # Errors
    /// As [`RunMemoryFn`](crate::extension::RunMemoryFn), without errors of the path and the host.
    pub fn check(&self, action: MemoryAction, offset: u64, len: u64) -> Result<(), DocaError> {
        let part = self.part(offset, len)?;
        if action.0 > MemoryAction::LAST.0 {
            return Err(DocaError::NOT_SUPPORTED);
        }
        if action.is_of_word() && (len != 8 || !part.address.is_multiple_of(8)) {
            return Err(DocaError::INVALID_VALUE);
        }
        let access = Access::from_bits_truncate(self.access);
        let is_permitted = match action.writes() {
            true => access.others_write(),
            false => access.others_read(),
        };
        if is_permitted { Ok(()) } else { Err(DocaError::NOT_PERMITTED) }
    }
}

/// An operation on a host's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct MemoryAction(pub u32);

impl MemoryAction {
    /// Copies from the host's memory to `local`.
    pub const READ: MemoryAction = MemoryAction(0);
    /// Copies from `local` to the host's memory.
    pub const WRITE: MemoryAction = MemoryAction(1);
    /// Adds `operand` to 8 aligned bytes; `result` is the old value.
    pub const FETCH_ADD: MemoryAction = MemoryAction(2);
    /// Stores `operand` in 8 aligned bytes; `result` is the old value.
    pub const SWAP: MemoryAction = MemoryAction(3);
    /// Stores `operand` in 8 aligned bytes if they equal `compare`; `result` is the old value.
    pub const COMPARE_SWAP: MemoryAction = MemoryAction(4);
    /// The host sends `len` bytes of its memory to the UCX worker with the address `local`
    /// (`result` bytes), with the tag `operand`. Over the network only.
    pub const TAG_SEND: MemoryAction = MemoryAction(5);
    /// Loads 8 aligned bytes atomically into `result`.
    pub const LOAD: MemoryAction = MemoryAction(6);
    /// Waits up to a second until 8 aligned bytes, masked by `operand`, are greater than `compare`.
    /// `result` is the last value, without the mask. A mapped word is read once.
    pub const WAIT_GT: MemoryAction = MemoryAction(7);
    /// Same as [`WAIT_GT`](Self::WAIT_GT), until they equal `compare`.
    pub const WAIT_EQ: MemoryAction = MemoryAction(8);
    /// Same as [`WAIT_GT`](Self::WAIT_GT), until they differ from `compare`.
    pub const WAIT_NEQ: MemoryAction = MemoryAction(9);

    const LAST: MemoryAction = MemoryAction::WAIT_NEQ;

    pub fn writes(self) -> bool {
        matches!(
            self,
            MemoryAction::WRITE
                | MemoryAction::FETCH_ADD
                | MemoryAction::SWAP
                | MemoryAction::COMPARE_SWAP
        )
    }

    fn is_of_word(self) -> bool {
        !matches!(self, MemoryAction::READ | MemoryAction::WRITE | MemoryAction::TAG_SEND)
    }

    /// Returns whether an operation uses bytes of the plugin (`local`).
    pub fn uses_local(self) -> bool {
        !self.is_of_word()
    }

    /// Runs an atomic action and returns the old value; `None` for other actions.
    pub fn run_atomic(self, word: &AtomicU64, operand: u64, compare: u64) -> Option<u64> {
        Some(match self {
            MemoryAction::FETCH_ADD => word.fetch_add(operand, Ordering::AcqRel),
            MemoryAction::SWAP => word.swap(operand, Ordering::AcqRel),
            MemoryAction::COMPARE_SWAP => word
                .compare_exchange(compare, operand, Ordering::AcqRel, Ordering::Acquire)
                .unwrap_or_else(|found| found),
            _ => return None,
        })
    }
}

/// An operation on a host's memory. Its address must not change until it has ended.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct MemoryOperation {
    pub size: usize,
    pub action: MemoryAction,
    pub status: DocaStatus,
    /// Offset in the open memory, in bytes.
    pub offset: u64,
    pub len: u64,
    /// The plugin's bytes, valid until the operation has ended.
    pub local: *mut u8,
    pub operand: u64,
    pub compare: u64,
    /// See [`MemoryAction`] for `operand`, `compare` and `result`.
    pub result: u64,
    /// Called when an `IN_PROGRESS` operation ends: on the worker's thread, not nested.
    pub done: Option<unsafe extern "C" fn(operation: *mut MemoryOperation)>,
}

impl MemoryOperation {
    pub const fn new(action: MemoryAction, offset: u64, len: u64) -> MemoryOperation {
        MemoryOperation {
            size: size_of::<MemoryOperation>(),
            action,
            status: DocaStatus::SUCCESS,
            offset,
            len,
            local: std::ptr::null_mut(),
            operand: 0,
            compare: 0,
            result: 0,
            done: None,
        }
    }
}

assert_layout!(HostMemory, 48, align 8, {
    size @ 0, handle @ 8, mapping @ 16, address @ 24, len @ 32, access @ 40, path @ 44,
});
assert_layout!(MemoryOperation, 72, align 8, {
    size @ 0, action @ 8, status @ 12, offset @ 16, len @ 24, local @ 32, operand @ 40,
    compare @ 48, result @ 56, done @ 64,
});

/// Memory that a host shares with a worker (`struct urom_offered_memory`).
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OfferedMemory {
    pub size: usize,
    /// The number that commands use for it. It is never reused in this process.
    pub memory: u64,
    pub address: *mut c_void,
    /// Its length in bytes: not 0.
    pub len: usize,
    pub access: u32,
    /// The caller's mappable descriptor of the memory, sealed against shrinking; -1 for none.
    pub fd: c_int,
    /// Page-aligned offset of the memory in the descriptor's object.
    pub fd_offset: u64,
    /// The first path to try. For tests.
    pub path: MemoryPath,
    pub reserved: u32,
}

/// Called once, on any thread, when memory is shared or no longer shared: with a code, the path,
/// and the failure's text in UTF-8, valid during the call (`urom_memory_cb_t`).
pub type MemoryCallback = unsafe extern "C" fn(
    data: *mut c_void,
    code: DocaStatus,
    path: MemoryPath,
    why: *const c_char,
    why_len: usize,
);

assert_layout!(OfferedMemory, 56, align 8, {
    size @ 0, memory @ 8, address @ 16, len @ 24, access @ 32, fd @ 36, fd_offset @ 40, path @ 48,
    reserved @ 52,
});

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(access: Access) -> HostMemory {
        HostMemory { address: 4, len: 100, access: access.bits(), ..HostMemory::NONE }
    }

    const LOADS: [MemoryAction; 4] =
        [MemoryAction::LOAD, MemoryAction::WAIT_GT, MemoryAction::WAIT_EQ, MemoryAction::WAIT_NEQ];
    const READS: [MemoryAction; 2] = [MemoryAction::READ, MemoryAction::TAG_SEND];

    #[test]
    fn a_part_lies_within_and_begins_where_its_bytes_are() {
        let whole = memory(Access::PCI_READ_ONLY);
        let mut bytes = [0_u8; 100];
        let mapped = HostMemory { mapping: bytes.as_mut_ptr(), ..whole };
        for (offset, len) in [(0, 0), (0, 100), (100, 0), (30, 20)] {
            let part = mapped.part(offset, len).unwrap();
            assert_eq!((part.address, part.len), (4 + offset, len));
            assert_eq!(part.mapping, bytes.as_mut_ptr().wrapping_add(offset as usize));
            assert!(whole.part(offset, len).unwrap().mapping.is_null());
        }
        for (offset, len) in [(0, 101), (101, 0), (u64::MAX, 1), (1, u64::MAX), (99, 2)] {
            assert_eq!(whole.part(offset, len).unwrap_err(), DocaError::INVALID_VALUE);
            for action in READS.into_iter().chain([MemoryAction::WRITE]) {
                let checked = memory(Access::all()).check(action, offset, len);
                assert_eq!(checked, Err(DocaError::INVALID_VALUE), "{action:?} {offset} {len}");
            }
        }
    }

    #[test]
    fn atomic_actions_give_what_was_there_before() {
        let word = AtomicU64::new(u64::MAX);
        assert_eq!(MemoryAction::FETCH_ADD.run_atomic(&word, 3, 0), Some(u64::MAX));
        assert_eq!(MemoryAction::SWAP.run_atomic(&word, 7, 0), Some(2));
        assert_eq!(MemoryAction::COMPARE_SWAP.run_atomic(&word, 9, 8), Some(7));
        assert_eq!(MemoryAction::COMPARE_SWAP.run_atomic(&word, 9, 7), Some(7));
        for action in LOADS.into_iter().chain(READS) {
            assert_eq!(action.run_atomic(&word, 1, 1), None);
        }
        assert_eq!(word.into_inner(), 9);
    }
}
