//! Owned command and notification descriptors, and lists of them. A descriptor is one block on the
//! **C heap**: worker and plugin free blocks that the other side allocated, so both must use
//! `malloc` and `free` instead of Rust's allocator.

use std::marker::PhantomData;
use std::ptr::NonNull;

use crate::error::{DocaError, DocaStatus};
use crate::list::{self, ListLink};
use crate::plugin::{WorkerCmd, WorkerCmdDesc, WorkerNotifDesc, WorkerNotify};
use crate::test_util::watch;

mod sealed {
    pub trait Sealed {}
    impl Sealed for crate::plugin::WorkerCmdDesc {}
    impl Sealed for crate::plugin::WorkerNotifDesc {}
}

/// The descriptor structures: [`WorkerCmdDesc`] and [`WorkerNotifDesc`].
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

/// A descriptor that this side owns, at a fixed address. Dropping it calls C's `free`.
#[derive(Debug)]
pub struct Descriptor<T: Block> {
    pub(crate) block: NonNull<T>,
}

/// A command descriptor (`struct urom_worker_cmd_desc`).
pub type CommandDesc = Descriptor<WorkerCmdDesc>;
/// A notification descriptor (`struct urom_worker_notif_desc`).
pub type NotificationDesc = Descriptor<WorkerNotifDesc>;

// SAFETY: a descriptor is plain memory with one owner, and the C heap is thread-safe.
unsafe impl<T: Block> Send for Descriptor<T> {}

/// Number of zero bytes after every command, because C plugins can read slightly past the end.
pub(crate) const COMMAND_SLACK: usize = 16;

impl CommandDesc {
    /// Returns the header: plugin id, token, length.
    #[inline]
    pub fn header(&self) -> WorkerCmd {
        // SAFETY: an owned block holds an initialised header.
        unsafe { (*self.block.as_ptr()).worker_cmd }
    }

    /// Returns the command's connection.
    #[inline]
    pub fn dest_id(&self) -> u64 {
        // SAFETY: every constructor of a `Descriptor` initialises the whole structure.
        unsafe { (*self.block.as_ptr()).dest_id }
    }
}

/// Maximum size of a notification that is zeroed here. glibc's `malloc`, unlike `calloc`, reuses
/// the thread's recently freed small blocks. For large blocks, `calloc` skips pages that are zero.
const CLEARED_HERE: usize = 512;

impl NotificationDesc {
    /// Allocates a notification of `len` zero bytes. All header fields except `len` are 0.
    ///
    /// # Errors
    /// `NO_MEMORY` when the C heap is exhausted or `len` is too large.
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
        // SAFETY: the block can hold the header, and the heap aligns for any type.
        unsafe { block.write(desc) };
        let desc = Descriptor { block };
        if len <= CLEARED_HERE {
            // SAFETY: the block has `len` bytes after the header.
            unsafe { desc.body().write_bytes(0, len) };
        }
        Ok(desc)
    }

    /// Returns the header: plugin id, token, length, status.
    #[inline]
    pub fn header(&self) -> &WorkerNotify {
        // SAFETY: an owned block holds an initialised header, borrowed as long as `self`.
        unsafe { &(*self.block.as_ptr()).worker_notif }
    }

    /// Returns the header for writing. `len` must stay: it bounds [`payload`](Descriptor::payload).
    #[inline]
    fn header_mut(&mut self) -> &mut WorkerNotify {
        // SAFETY: as in `header`, and `self` is borrowed exclusively.
        unsafe { &mut (*self.block.as_ptr()).worker_notif }
    }

    /// Truncates to `len` bytes (`urom_worker_notify.len`). Does not shrink the memory.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        let kept = self.payload_len().min(len);
        self.header_mut().len = kept as u64;
    }

    /// Makes this the answer to `command`, with its plugin id, token, connection, and a status.
    #[inline]
    pub fn address_to(&mut self, command: &CommandDesc, status: DocaStatus) {
        let asked = command.header();
        let header = self.header_mut();
        header.plugin_id = asked.plugin_id;
        header.urom_context = asked.urom_context;
        header.status = status;
        // SAFETY: an owned block holds an initialised descriptor.
        unsafe { (*self.block.as_ptr()).dest_id = command.dest_id() };
    }

    /// Returns the answer's connection.
    #[inline]
    pub fn dest_id(&self) -> u64 {
        // SAFETY: every constructor of a `Descriptor` initialises the whole structure.
        unsafe { (*self.block.as_ptr()).dest_id }
    }
}

impl<T: Block> Descriptor<T> {
    /// Returns the bytes after the header.
    #[inline]
    pub fn payload(&self) -> &[u8] {
        // SAFETY: `len` bytes after the header belong to the block: every constructor here
        // allocates them, `from_raw` requires them, and the contract of a call into a plugin
        // requires them for descriptors that the plugin adds to a list.
        unsafe { std::slice::from_raw_parts(self.body(), self.payload_len()) }
    }

    /// Returns the bytes after the header, writable.
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

    /// Returns a pointer to the bytes after the header, valid while the block lives.
    #[inline]
    pub(crate) fn body(&self) -> *mut u8 {
        // SAFETY: the bytes begin at the end of the header, within the block or one past it.
        unsafe { self.block.as_ptr().add(1) }.cast()
    }

    /// Releases ownership. The receiver frees the block with C's `free`.
    #[inline]
    pub fn into_raw(self) -> *mut T {
        let block = self.block.as_ptr();
        std::mem::forget(self);
        block
    }

    /// Takes ownership of a block.
    ///
    /// # Safety
    /// `block` is the start of a block of the C heap with an initialised `T` and as many bytes
    /// after it as its header states. It is in no list, and only the caller owns it.
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

/// A list that owns its descriptors, which a worker passes to `worker_cmd` and `progress`, reused
/// for every call. The head is on the heap, because links point to it.
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
    /// Creates an empty list.
    pub fn new() -> DescriptorList<T> {
        let head = NonNull::from(Box::leak(Box::new(ListLink::detached())));
        // SAFETY: the head was just allocated and does not move.
        unsafe { list::init(head.as_ptr()) };
        DescriptorList { head, owns: PhantomData }
    }

    /// Returns whether the list is empty.
    #[inline]
    pub fn is_empty(&self) -> bool {
        // SAFETY: the head is initialised.
        unsafe { list::is_empty(self.head.as_ptr()) }
    }

    /// Appends a descriptor.
    #[inline]
    pub fn push_back(&mut self, desc: Descriptor<T>) {
        let link = desc.into_raw().cast::<ListLink>();
        // SAFETY: this value owns the list; the descriptor, whose link is its first field, was
        // owned by the caller and was in no list.
        unsafe { list::push_back(self.head.as_ptr(), link) };
    }

    /// Removes the first descriptor. The contract of the call into a plugin guarantees that its
    /// descriptors match the ABI: a block of the C heap with as many bytes as its header states. A
    /// worker that does not trust plugins leaves the payload to the plugin's `notif_pack`.
    #[inline]
    pub fn pop_front(&mut self) -> Option<Descriptor<T>> {
        // SAFETY: this value owns the list, which is well formed and owns its descriptors.
        unsafe { pop_front(self.head) }
    }

    /// Returns the head for a call into a plugin. The list owns descriptors that the plugin adds.
    #[inline]
    pub fn as_raw(&mut self) -> *mut ListLink {
        self.head.as_ptr()
    }
}

impl<T: Block> Drop for DescriptorList<T> {
    fn drop(&mut self) {
        while self.pop_front().is_some() {}
        // SAFETY: the head came from a Box in `new`, and no links point to it any more.
        drop(unsafe { Box::from_raw(self.head.as_ptr()) });
    }
}

#[doc(hidden)]
#[derive(Debug)]
pub struct BorrowedList<'a, T: Block> {
    head: NonNull<ListLink>,
    of: PhantomData<(&'a mut ListLink, T)>,
}

impl<T: Block> BorrowedList<'_, T> {
    /// # Safety
    /// For `'a`, `head` is the initialised head of a well-formed list without other users. It
    /// contains descriptors of this kind, link first, each a block of the C heap with as many bytes
    /// as its header states.
    #[inline]
    pub unsafe fn new(head: NonNull<ListLink>) -> Self {
        BorrowedList { head, of: PhantomData }
    }

    #[inline]
    pub fn pop_front(&mut self) -> Option<Descriptor<T>> {
        // SAFETY: guaranteed by the caller of `new`.
        unsafe { pop_front(self.head) }
    }
}

/// Removes the first descriptor of a list.
///
/// # Safety
/// `head` is the initialised head of a well-formed list without concurrent access. It contains
/// descriptors of this kind, link first, each a block of the C heap with as many bytes as its
/// header states. Only the list owns the removed descriptor.
#[inline]
unsafe fn pop_front<T: Block>(head: NonNull<ListLink>) -> Option<Descriptor<T>> {
    // SAFETY: the caller promises a valid list without concurrent access.
    let link = unsafe { list::pop_front(head.as_ptr()) }?;
    let block = NonNull::new(link.cast::<T>())?;
    // SAFETY: a link is the first field of its descriptor, which the list no longer owns.
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
        answer.address_to(&command, DocaStatus::NOT_FOUND);
        assert_eq!(answer.dest_id(), 7);
        let status = DocaStatus::NOT_FOUND;
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
