//! Owned command and notification descriptors, and the list that owns many.
//!
//! A descriptor is one block on the **C heap**: the plugin frees the commands that the worker
//! allocated, and the worker frees the notifications that the plugin allocated, so both sides must
//! use `malloc` and `free` and not Rust's allocator.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::error::DocaError;
use crate::list::{self, ListLink};
use crate::plugin::{WorkerCmd, WorkerCmdDesc, WorkerNotifDesc, WorkerNotify};
use crate::test_util::watch;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::plugin::WorkerCmdDesc {}
    impl Sealed for crate::plugin::WorkerNotifDesc {}
}

/// The two structures that can be descriptors: [`WorkerCmdDesc`] and [`WorkerNotifDesc`].
#[doc(hidden)]
pub trait Block: sealed::Sealed {
    fn stated_len(&self) -> u64;
}

impl Block for WorkerCmdDesc {
    #[inline]
    fn stated_len(&self) -> u64 {
        self.worker_cmd.len
    }
}

impl Block for WorkerNotifDesc {
    #[inline]
    fn stated_len(&self) -> u64 {
        self.worker_notif.len
    }
}

/// A descriptor this side owns: freed with C's `free` when it is dropped.
///
/// The address of the block, and of the bytes behind its header, never changes.
#[derive(Debug)]
pub struct Descriptor<T: Block> {
    pub(crate) block: NonNull<T>,
}

/// A command descriptor (`struct urom_worker_cmd_desc`).
pub type CommandDesc = Descriptor<WorkerCmdDesc>;
/// A notification descriptor (`struct urom_worker_notif_desc`).
pub type NotificationDesc = Descriptor<WorkerNotifDesc>;

// SAFETY: a descriptor is plain memory with one owner; no thread is special to the C heap.
unsafe impl<T: Block> Send for Descriptor<T> {}

/// How many zero bytes a worker leaves behind every command: C plugins have been seen to read a
/// little past the end.
pub(crate) const COMMAND_SLACK: usize = 16;

impl CommandDesc {
    /// The header: plugin id, token, length.
    #[inline]
    pub fn header(&self) -> WorkerCmd {
        // SAFETY: an owned block holds an initialised header.
        unsafe { (*self.block.as_ptr()).worker_cmd }
    }

    /// The connection the command came in on.
    #[inline]
    pub fn dest_id(&self) -> u64 {
        // SAFETY: every constructor of a `Descriptor` initialises the whole structure.
        unsafe { (*self.block.as_ptr()).dest_id }
    }
}

/// Up to how many bytes a notification is cleared here and not by the C heap.
///
/// glibc's `malloc` takes small blocks from what the thread freed last, and its `calloc` does not:
/// with it, every command pays for the long way through the heap twice, because what it frees finds
/// that store full. Of large blocks `calloc` knows which pages are zero already.
const CLEARED_HERE: usize = 512;

impl NotificationDesc {
    /// Allocates a notification of `len` zero bytes, with every header field 0 but `len`.
    ///
    /// # Errors
    /// `NO_MEMORY` when the C heap has no room, or `len` cannot be one.
    #[inline]
    pub fn zeroed(len: usize) -> Result<NotificationDesc, DocaError> {
        let total = size_of::<WorkerNotifDesc>().checked_add(len).ok_or(DocaError::NO_MEMORY)?;
        if watch::refuses() {
            return Err(DocaError::NO_MEMORY);
        }
        let memory = if len <= CLEARED_HERE {
            // SAFETY: malloc takes any size.
            unsafe { libc::malloc(total) }
        } else {
            // SAFETY: calloc takes any size.
            unsafe { libc::calloc(1, total) }
        };
        let block = NonNull::new(memory.cast::<WorkerNotifDesc>()).ok_or(DocaError::NO_MEMORY)?;
        watch::allocated(memory.cast(), watch::Block::Notification(len));
        let header = WorkerNotify { len: len as u64, ..WorkerNotify::default() };
        let desc =
            WorkerNotifDesc { entry: ListLink::detached(), dest_id: 0, worker_notif: header };
        // SAFETY: the block has room for the header, and the heap aligns for any type.
        unsafe { block.write(desc) };
        let desc = Descriptor { block };
        if len <= CLEARED_HERE {
            // SAFETY: `len` bytes of the block are left behind the header.
            unsafe { desc.body().write_bytes(0, len) };
        }
        Ok(desc)
    }

    /// The header: plugin id, token, length, status.
    #[inline]
    pub fn header(&self) -> &WorkerNotify {
        // SAFETY: an owned block holds an initialised header, borrowed as long as `self`.
        unsafe { &(*self.block.as_ptr()).worker_notif }
    }

    /// The header, to be filled in. `len` must stay what it is: it bounds
    /// [`payload`](Descriptor::payload).
    #[inline]
    fn header_mut(&mut self) -> &mut WorkerNotify {
        // SAFETY: as in `header`, and `self` is borrowed exclusively.
        unsafe { &mut (*self.block.as_ptr()).worker_notif }
    }

    /// Keeps the first `len` bytes, or all when there are no more (`urom_worker_notify.len`). The
    /// memory stays as large as it was.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        let kept = self.payload_len().min(len);
        self.header_mut().len = kept as u64;
    }

    /// Makes this the answer to `command`: copies its plugin id, token and connection, and sets the
    /// status.
    #[inline]
    pub fn address_to(&mut self, command: &CommandDesc, status: DocaError) {
        let asked = command.header();
        let header = self.header_mut();
        header.plugin_id = asked.plugin_id;
        header.urom_context = asked.urom_context;
        header.status = status;
        // SAFETY: an owned block holds an initialised descriptor.
        unsafe { (*self.block.as_ptr()).dest_id = command.dest_id() };
    }

    /// The connection the answer goes to.
    #[inline]
    pub fn dest_id(&self) -> u64 {
        // SAFETY: every constructor of a `Descriptor` initialises the whole structure.
        unsafe { (*self.block.as_ptr()).dest_id }
    }
}

impl<T: Block> Descriptor<T> {
    /// The bytes behind the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        // SAFETY: `len` bytes behind the header belong to the block: every constructor here
        // allocates them, `from_raw` is told so, and what a plugin hung into a list is what the ABI
        // says, by the contract of the call into it.
        unsafe { std::slice::from_raw_parts(self.body(), self.payload_len()) }
    }

    /// The bytes behind the header, writable.
    #[doc(hidden)]
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `payload`, and `self` is borrowed exclusively.
        unsafe { std::slice::from_raw_parts_mut(self.body(), self.payload_len()) }
    }

    #[inline]
    fn payload_len(&self) -> usize {
        // SAFETY: an owned block holds an initialised header.
        unsafe { self.block.as_ref() }.stated_len() as usize
    }

    /// Where the bytes behind the header begin. The pointer may be used for all of them as long as
    /// the block lives.
    #[inline]
    pub(crate) fn body(&self) -> *mut u8 {
        // SAFETY: the bytes begin where the header ends, within the block or one past it.
        unsafe { self.block.as_ptr().add(1) }.cast()
    }

    /// Gives the block away; the receiver frees it with C's `free`.
    #[inline]
    pub fn into_raw(self) -> *mut T {
        let block = self.block.as_ptr();
        std::mem::forget(self);
        block
    }

    /// Takes over a block.
    ///
    /// # Safety
    /// `block` is the start of one block of the C heap that holds an initialised `T` and as many
    /// bytes behind it as its header says, hangs in no list, and from now on has no other owner.
    #[inline]
    pub unsafe fn from_raw(block: NonNull<T>) -> Descriptor<T> {
        Descriptor { block }
    }
}

impl<T: Block> Drop for Descriptor<T> {
    #[inline]
    fn drop(&mut self) {
        watch::freed(self.block.as_ptr().cast());
        // SAFETY: the block came from the C heap and this is its only owner.
        unsafe { libc::free(self.block.as_ptr().cast()) }
    }
}

/// A list that owns its descriptors: what a worker hands to `worker_cmd` and `progress`.
///
/// The head lives on the heap, because links point at it; one list is made once and used again for
/// every call.
#[derive(Debug)]
pub struct DescriptorList<T: Block> {
    head: NonNull<ListLink>,
    owns: PhantomData<T>,
}

impl<T: Block> Default for DescriptorList<T> {
    fn default() -> Self {
        DescriptorList::new()
    }
}

impl<T: Block> DescriptorList<T> {
    /// An empty list.
    pub fn new() -> DescriptorList<T> {
        let head = NonNull::from(Box::leak(Box::new(ListLink::detached())));
        // SAFETY: the head was just allocated, and moves no more.
        unsafe { list::init(head.as_ptr()) };
        DescriptorList { head, owns: PhantomData }
    }

    /// Whether the list holds nothing.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // SAFETY: the head is initialised.
        unsafe { list::is_empty(self.head.as_ptr()) }
    }

    /// Hangs a descriptor at the end.
    #[inline]
    pub fn push_back(&mut self, desc: Descriptor<T>) {
        let link = desc.into_raw().cast::<ListLink>();
        // SAFETY: the list is ours alone; the descriptor, whose link is its first field, was ours
        // and hung nowhere.
        unsafe { list::push_back(self.head.as_ptr(), link) };
    }

    /// Takes the first descriptor off.
    ///
    /// What a plugin appended is what the ABI says it is, a block of the C heap with as many bytes
    /// as its header says: whoever makes the unsafe call into the plugin answers for that. A worker
    /// that trusts plugins less does not touch the payload, and leaves it to the plugin's own
    /// `notif_pack`.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Descriptor<T>> {
        // SAFETY: the list is ours alone and well formed, and owns its descriptors.
        unsafe { pop_front(self.head) }
    }

    /// The head, for a call into a plugin. Whatever hangs in it after the call belongs to this
    /// list.
    #[inline]
    pub fn as_raw(&mut self) -> *mut ListLink {
        self.head.as_ptr()
    }
}

impl<T: Block> Drop for DescriptorList<T> {
    fn drop(&mut self) {
        while self.pop_front().is_some() {}
        // SAFETY: the head came from a Box in `new`, and nothing points at it any more.
        drop(unsafe { Box::from_raw(self.head.as_ptr()) });
    }
}

/// A list that somebody else owns: what is taken off it is the caller's.
#[doc(hidden)]
#[derive(Debug)]
pub struct BorrowedList<'a, T: Block> {
    head: NonNull<ListLink>,
    of: PhantomData<(&'a mut ListLink, T)>,
}

impl<T: Block> BorrowedList<'_, T> {
    /// The list of this head.
    ///
    /// # Safety
    /// For `'a`, `head` is the initialised head of a well-formed list that nobody else touches. It
    /// holds descriptors of this kind, link first, one block of the C heap each, with as many bytes
    /// as the header says.
    #[inline]
    pub unsafe fn new(head: NonNull<ListLink>) -> Self {
        BorrowedList { head, of: PhantomData }
    }

    /// Takes the first descriptor off.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Descriptor<T>> {
        // SAFETY: what the caller of `new` said.
        unsafe { pop_front(self.head) }
    }
}

/// Takes the first descriptor off a list.
///
/// # Safety
/// `head` is the initialised head of a well-formed list that nobody else touches during the call.
/// It holds descriptors of this kind, link first, one block of the C heap each, with as many bytes
/// as the header says, and the one that is taken off has no other owner.
#[inline]
unsafe fn pop_front<T: Block>(head: NonNull<ListLink>) -> Option<Descriptor<T>> {
    // SAFETY: the caller vouches for the list, and touches it nowhere else during the call.
    let link = unsafe { list::pop_front(head.as_ptr()) }?;
    let block = NonNull::new(link.cast::<T>())?;
    // SAFETY: a link is the first field of its descriptor, which the list gives up.
    Some(unsafe { Descriptor::from_raw(block) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_carries_its_bytes_and_zeros_behind_them() {
        let command = CommandDesc::new(7, 2, 0x1234, b"hello").unwrap();
        assert_eq!(command.header(), WorkerCmd { plugin_id: 2, urom_context: 0x1234, len: 5 });
        assert_eq!((command.dest_id(), command.payload()), (7, &b"hello"[..]));
        // SAFETY: the payload's 5 bytes are within the block.
        let end = unsafe { command.body().add(5) };
        // SAFETY: `new` allocates and fills COMMAND_SLACK bytes behind the payload.
        let slack = unsafe { std::slice::from_raw_parts(end, COMMAND_SLACK) };
        assert!(slack.iter().all(|byte| *byte == 0));
    }

    #[test]
    fn an_answer_carries_the_commands_address() {
        let command = CommandDesc::new(7, 2, 0x1234, &[]).unwrap();
        let mut answer = NotificationDesc::zeroed(16).unwrap();
        answer.address_to(&command, DocaError::NOT_FOUND);
        assert_eq!(answer.dest_id(), 7);
        let status = DocaError::NOT_FOUND;
        let header =
            WorkerNotify { plugin_id: 2, urom_context: 0x1234, len: 16, status, reserved: 0 };
        assert_eq!(*answer.header(), header);
        assert_eq!(answer.payload(), [0; 16]);
    }

    #[test]
    fn a_notification_is_shortened_and_never_lengthened() {
        let mut answer = NotificationDesc::zeroed(16).unwrap();
        answer.truncate(17);
        assert_eq!(answer.header().len, 16);
        answer.truncate(3);
        assert_eq!((answer.header().len, answer.payload()), (3, &[0; 3][..]));
        answer.truncate(4);
        assert_eq!(answer.header().len, 3);
    }

    #[test]
    fn a_length_no_heap_can_hold_is_no_memory() {
        for len in [usize::MAX, isize::MAX as usize] {
            assert_eq!(NotificationDesc::zeroed(len).unwrap_err(), DocaError::NO_MEMORY);
        }
    }

    #[test]
    fn a_list_gives_back_what_it_took_and_frees_the_rest() {
        let mut list = DescriptorList::new();
        for i in 0..3 {
            list.push_back(CommandDesc::new(0, 1, i, &[]).unwrap());
        }
        assert_eq!(list.pop_front().unwrap().header().urom_context, 0);
        assert_eq!(list.pop_front().unwrap().header().urom_context, 1);
        assert!(!list.is_empty());
    }
}
