//! Preallocated memory for a command.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use crate::copy::copy;
use crate::descriptor::{COMMAND_SLACK, CommandDesc};
use crate::error::DocaError;
use crate::list::ListLink;
use crate::plugin::{WorkerCmd, WorkerCmdDesc};
use crate::shared::SharedCommand;
use crate::test_util::watch;

/// Memory for a command up to a certain length, allocated in advance and reusable. Freed if unused.
#[derive(Debug)]
pub struct CommandBuffer {
    block: NonNull<WorkerCmdDesc>,
    capacity: usize,
}

// SAFETY: it is plain memory with one owner, and the C heap is thread-safe.
unsafe impl Send for CommandBuffer {}

impl CommandBuffer {
    #[inline]
    pub fn new(capacity: usize) -> Option<CommandBuffer> {
        let total = size_of::<WorkerCmdDesc>().checked_add(capacity)?.checked_add(COMMAND_SLACK)?;
        // SAFETY: malloc takes any size.
        let memory = unsafe { libc::malloc(total) };
        Some(CommandBuffer { block: NonNull::new(memory.cast())?, capacity })
    }

    /// Reclaims a command's memory; `None` while other owners keep the command.
    ///
    /// # Safety
    /// The command was made from a `CommandBuffer` of this capacity.
    #[inline]
    pub unsafe fn reclaim(command: SharedCommand, capacity: usize) -> Option<CommandBuffer> {
        let block = ManuallyDrop::new(command.into_sole()?).block;
        watch::freed(block.as_ptr().cast());
        Some(CommandBuffer { block, capacity })
    }

    #[inline]
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// # Panics
    /// The payload is longer than the capacity.
    #[inline]
    pub fn fill(
        self,
        dest_id: u64,
        plugin_id: u64,
        urom_context: u64,
        payload: &[u8],
    ) -> CommandDesc {
        assert!(payload.len() <= self.capacity, "a command must fit its buffer");
        let block = ManuallyDrop::new(self).block;
        let desc = WorkerCmdDesc {
            entry: ListLink::detached(),
            dest_id,
            worker_cmd: WorkerCmd { plugin_id, urom_context, len: payload.len() as u64 },
        };
        // SAFETY: the block is larger than the header, and malloc aligns for any type.
        unsafe { block.write(desc) };
        // SAFETY: the header is followed by the payload's bytes.
        let body = unsafe { block.add(1) }.cast::<u8>();
        // SAFETY: `payload.len()` bytes fit after the header, and the new block is disjoint.
        unsafe { copy(payload.as_ptr(), body.as_ptr(), payload.len()) };
        // SAFETY: the payload's end is within the block.
        let slack = unsafe { body.add(payload.len()) };
        // SAFETY: at least COMMAND_SLACK bytes of the block are left.
        unsafe { slack.write_bytes(0, COMMAND_SLACK) };
        watch::allocated(block.as_ptr().cast(), watch::Block::Command(urom_context));
        CommandDesc { block }
    }
}

impl CommandDesc {
    /// Allocates a command with a copy of `payload`, followed by 16 zero bytes.
    ///
    /// # Errors
    /// `NO_MEMORY` when the C heap is exhausted.
    pub fn new(
        dest_id: u64,
        plugin_id: u64,
        urom_context: u64,
        payload: &[u8],
    ) -> Result<CommandDesc, DocaError> {
        let buffer = CommandBuffer::new(payload.len()).ok_or(DocaError::NO_MEMORY)?;
        Ok(buffer.fill(dest_id, plugin_id, urom_context, payload))
    }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        // SAFETY: the block came from the C heap and this is its only owner.
        unsafe { libc::free(self.block.as_ptr().cast()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_in_memory_that_waited_is_like_any_other() {
        let buffer = CommandBuffer::new(5).unwrap();
        assert_eq!(buffer.capacity(), 5);
        let command = buffer.fill(7, 2, 0x1234, b"hello");
        assert_eq!(command.header(), WorkerCmd { plugin_id: 2, urom_context: 0x1234, len: 5 });
        assert_eq!((command.dest_id(), command.payload()), (7, &b"hello"[..]));
        drop(CommandBuffer::new(0).unwrap());
        assert!(CommandBuffer::new(usize::MAX).is_none());
    }

    #[test]
    fn the_buffer_of_a_command_is_reused_once_it_has_one_owner() {
        let command: SharedCommand = CommandBuffer::new(9).unwrap().fill(7, 2, 1, b"first").into();
        let held = command.clone();
        // SAFETY: it was made from a `CommandBuffer` of this capacity.
        assert!(unsafe { CommandBuffer::reclaim(command, 9) }.is_none());
        assert_eq!(held.payload(), b"first");
        // SAFETY: as above.
        let buffer = unsafe { CommandBuffer::reclaim(held, 9) }.unwrap();
        assert_eq!(buffer.fill(7, 2, 2, b"and again").payload(), b"and again");
    }

    #[test]
    #[should_panic(expected = "must fit its buffer")]
    fn a_command_that_is_too_long_is_refused() {
        drop(CommandBuffer::new(4).unwrap().fill(7, 2, 0x1234, b"hello"));
    }
}
