//! A command with several owners, without extra memory. In a descriptor outside the list, the
//! link's first word counts owners, the second chains commands in a [`CommandStack`].

use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::descriptor::CommandDesc;
use crate::plugin::WorkerCmdDesc;

/// An owner of a command. The last owner frees the block.
///
/// The bytes are read-only. The count is not atomic, so all owners stay on one thread, unlike a
/// [`CommandDesc`]:
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// assert_send::<urom_abi::shared::SharedCommand>();
/// ```
pub struct SharedCommand {
    desc: ManuallyDrop<CommandDesc>,
    on_one_thread: PhantomData<*const ()>,
}

impl SharedCommand {
    #[inline]
    fn owner(desc: CommandDesc) -> SharedCommand {
        SharedCommand { desc: ManuallyDrop::new(desc), on_one_thread: PhantomData }
    }

    /// Returns the descriptor if this is the only owner, else drops this owner.
    #[inline]
    pub(crate) fn into_sole(self) -> Option<CommandDesc> {
        // SAFETY: the count was written by `from`, and all owners are on this thread.
        if unsafe { self.count().read() } != 1 {
            return None;
        }
        let block = ManuallyDrop::new(self).desc.block;
        Some(CommandDesc { block })
    }

    #[inline]
    fn block(&self) -> *mut WorkerCmdDesc {
        self.desc.block.as_ptr()
    }

    #[inline]
    fn count(&self) -> *mut usize {
        // SAFETY: an owned block holds a descriptor; this takes an address and reads nothing.
        unsafe { &raw mut (*self.block()).entry.prev }.cast()
    }

    #[inline]
    fn next(&self) -> *mut *mut WorkerCmdDesc {
        // SAFETY: as in `count`.
        unsafe { &raw mut (*self.block()).entry.next }.cast()
    }
}

impl From<CommandDesc> for SharedCommand {
    #[inline]
    fn from(desc: CommandDesc) -> SharedCommand {
        let command = SharedCommand::owner(desc);
        // SAFETY: the descriptor has one owner and is in no list, so its link is unused: two words.
        unsafe { command.count().write(1) };
        command
    }
}

impl Clone for SharedCommand {
    #[inline]
    fn clone(&self) -> SharedCommand {
        // SAFETY: the count was written by `from`, and all owners are on this thread.
        let owners = unsafe { self.count().read() };
        // Only leaked owners could overflow it, after centuries.
        let more = owners.checked_add(1).unwrap_or_else(|| std::process::abort());
        // SAFETY: `from` made the link a count, and `PhantomData` keeps all owners on this thread.
        unsafe { self.count().write(more) };
        SharedCommand::owner(CommandDesc { block: self.desc.block })
    }
}

impl Drop for SharedCommand {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the count was written by `from`, and all owners are on this thread.
        let left = unsafe { self.count().read() } - 1;
        if left > 0 {
            // SAFETY: the count was written by `from`, and all owners are on this thread.
            unsafe { self.count().write(left) };
            return;
        }
        // SAFETY: this is the last owner, and it is not used again.
        unsafe { ManuallyDrop::drop(&mut self.desc) };
    }
}

impl Deref for SharedCommand {
    type Target = CommandDesc;

    #[inline]
    fn deref(&self) -> &CommandDesc {
        &self.desc
    }
}

impl fmt::Debug for SharedCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedCommand").field(&self.header()).finish()
    }
}

/// A stack of commands, chained through their links without allocations.
#[derive(Debug, Default)]
pub struct CommandStack {
    top: Option<NonNull<WorkerCmdDesc>>,
}

impl CommandStack {
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.top.is_none()
    }

    /// Pushes a command. No other owner may push it while it is in a stack.
    ///
    /// # Safety
    /// The command is in no stack.
    pub unsafe fn push(&mut self, command: SharedCommand) {
        let command = ManuallyDrop::new(command);
        let below = self.top.map_or(std::ptr::null_mut(), NonNull::as_ptr);
        // SAFETY: the second word of the link belongs to the command's only stack.
        unsafe { command.next().write(below) };
        self.top = Some(command.desc.block);
    }

    pub fn pop(&mut self) -> Option<SharedCommand> {
        let block = self.top?;
        let command = SharedCommand::owner(CommandDesc { block });
        // SAFETY: `push` wrote it.
        self.top = NonNull::new(unsafe { command.next().read() });
        Some(command)
    }
}

impl Drop for CommandStack {
    fn drop(&mut self) {
        while self.pop().is_some() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(token: u64, bytes: &[u8]) -> SharedCommand {
        CommandDesc::new(7, 2, token, bytes).unwrap().into()
    }

    #[test]
    fn every_owner_sees_the_command_until_the_last_is_gone() {
        let first = command(9, b"bytes");
        let second = first.clone();
        let third = second.clone();
        drop((first, third));
        assert_eq!((second.dest_id(), second.header().urom_context), (7, 9));
        assert_eq!(second.payload(), b"bytes");
    }

    #[test]
    fn a_stack_gives_back_what_it_took_while_others_own_it_too() {
        let mut stack = CommandStack::default();
        assert!(stack.is_empty() && stack.pop().is_none());
        let kept = command(0, b"kept");
        // SAFETY: it is in no stack.
        unsafe { stack.push(kept.clone()) };
        for token in 1..4 {
            // SAFETY: a new command.
            unsafe { stack.push(command(token, &[])) };
        }
        for token in [3, 2] {
            assert_eq!(stack.pop().unwrap().header().urom_context, token);
        }
        assert!(!stack.is_empty());
        drop(stack);
        assert_eq!(kept.payload(), b"kept");
    }
}
