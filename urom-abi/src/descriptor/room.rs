//! Memory for a command that is not there yet.

use std::mem::ManuallyDrop;
use std::ptr::NonNull;

use super::{COMMAND_SLACK, CommandDesc};
use crate::copy::copy;
use crate::list::ListLink;
use crate::plugin::{WorkerCmd, WorkerCmdDesc};
use crate::test_util::watch;

/// Memory for a command of a certain length: so that it can be had before the command is there.
/// Freed if it is not filled.
#[derive(Debug)]
pub struct CommandRoom {
    block: NonNull<WorkerCmdDesc>,
    len: usize,
}

// SAFETY: as for a descriptor.
unsafe impl Send for CommandRoom {}

impl CommandRoom {
    /// Allocates room for a command of `len` bytes; `None` when the C heap has none.
    #[inline]
    pub fn new(len: usize) -> Option<CommandRoom> {
        let total = size_of::<WorkerCmdDesc>().checked_add(len)?.checked_add(COMMAND_SLACK)?;
        // SAFETY: malloc takes any size.
        let memory = unsafe { libc::malloc(total) };
        Some(CommandRoom { block: NonNull::new(memory.cast())?, len })
    }

    /// How long the command is, in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the command is one without bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Makes the command of a copy of `payload`, with [`COMMAND_SLACK`] zero bytes behind.
    ///
    /// # Panics
    /// When the payload is not as long as the room.
    #[inline]
    pub fn fill(
        self,
        dest_id: u64,
        plugin_id: u64,
        urom_context: u64,
        payload: &[u8],
    ) -> CommandDesc {
        assert_eq!(payload.len(), self.len, "a command must be as long as its room");
        let block = ManuallyDrop::new(self).block;
        let desc = WorkerCmdDesc {
            entry: ListLink::detached(),
            dest_id,
            worker_cmd: WorkerCmd { plugin_id, urom_context, len: payload.len() as u64 },
        };
        // SAFETY: the block has more bytes than the header, and malloc aligns for any type.
        unsafe { block.write(desc) };
        // SAFETY: the header is followed by the payload's bytes.
        let body = unsafe { block.add(1) }.cast::<u8>();
        // SAFETY: `payload.len()` bytes fit behind the header, and a block that nobody has yet
        // overlaps nothing.
        unsafe { copy(payload.as_ptr(), body.as_ptr(), payload.len()) };
        // SAFETY: the payload's end is within the block.
        let slack = unsafe { body.add(payload.len()) };
        // SAFETY: exactly COMMAND_SLACK bytes of the block are left from there.
        unsafe { slack.write_bytes(0, COMMAND_SLACK) };
        watch::allocated(block.as_ptr().cast(), watch::Block::Command(urom_context));
        CommandDesc { block }
    }
}

impl Drop for CommandRoom {
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
        let room = CommandRoom::new(5).unwrap();
        assert!(room.len() == 5 && !room.is_empty());
        let command = room.fill(7, 2, 0x1234, b"hello");
        assert_eq!(command.header(), WorkerCmd { plugin_id: 2, urom_context: 0x1234, len: 5 });
        assert_eq!((command.dest_id(), command.payload()), (7, &b"hello"[..]));
        drop(CommandRoom::new(0).unwrap());
        assert!(CommandRoom::new(usize::MAX).is_none());
    }

    #[test]
    #[should_panic(expected = "as long as its room")]
    fn a_command_of_another_length_is_refused() {
        drop(CommandRoom::new(4).unwrap().fill(7, 2, 0x1234, b"hello"));
    }
}
