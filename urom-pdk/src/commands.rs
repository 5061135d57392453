//! A worker's list of commands.

use std::marker::PhantomData;
use std::ptr::NonNull;

use urom_abi::descriptor::CommandDesc;
use urom_abi::list::{self, ListLink};
use urom_abi::plugin::WorkerCmdDesc;

/// Commands on a worker's list, taken off one by one.
pub(crate) struct Commands<'a> {
    head: *mut ListLink,
    list: PhantomData<&'a mut ListLink>,
}

impl Commands<'_> {
    /// Those of the list at `head`.
    ///
    /// # Safety
    /// For the lifetime, `head` is the initialised head of a well-formed list that nobody else
    /// touches. It holds command descriptors, link first, one block of the C heap each, with as
    /// many bytes as the header says; who takes one off owns it.
    pub(crate) unsafe fn on(head: *mut ListLink) -> Self {
        Commands { head, list: PhantomData }
    }
}

impl Iterator for Commands<'_> {
    type Item = CommandDesc;

    #[inline]
    fn next(&mut self) -> Option<CommandDesc> {
        // SAFETY: the contract of `on`.
        let link = unsafe { list::pop_front(self.head) }?;
        let block = NonNull::new(link.cast::<WorkerCmdDesc>())?;
        // SAFETY: it was on the list, and is off it now.
        Some(unsafe { CommandDesc::from_raw(block) })
    }
}
