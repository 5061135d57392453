//! `doca_buf`: payload and response memory of tasks, and the two kinds of buffers.

use std::cell::{Cell, RefCell};
use std::ptr;

use urom_abi::DocaError;
use urom_abi::host::Buf;

use crate::handle::{ObjectTag, Opaque, borrow, object};
use crate::map::descriptor::BufDescriptor;
use crate::memory::{FixedMemory, copy};

/// Minimum readable size of a response: the fixed part of all known notifications.
const READABLE: usize = 64;

#[repr(C)]
pub(super) struct TaskBuffer {
    tag: ObjectTag,
    data: Cell<*mut u8>,
    len: Cell<usize>,
    /// The result of the last `set_data`. Submit returns it: hosts may ignore `set_data`'s result.
    refused: Cell<Result<(), DocaError>>,
    head: Cell<*mut u8>,
    capacity: Cell<usize>,
    /// Bytes from the head to the end of the memory.
    space: Cell<usize>,
    /// Bytes before the head, reserved for the library's headers.
    headroom: usize,
    memory: RefCell<FixedMemory>,
}

object!(TaskBuffer, Buffer);

pub(super) enum AnyBuf<'a> {
    OfTask(&'a TaskBuffer),
    /// An element of an inventory or a pool.
    OfMap(&'a BufDescriptor),
}

impl Opaque for Buf {
    type Found<'a> = AnyBuf<'a>;

    #[inline]
    unsafe fn find<'a>(pointer: *const Buf) -> Result<AnyBuf<'a>, DocaError> {
        // SAFETY: the caller's promise.
        match unsafe { borrow(pointer) } {
            // SAFETY: the caller's promise.
            Err(DocaError::INVALID_VALUE) => unsafe { borrow(pointer) }.map(AnyBuf::OfMap),
            buffer => buffer.map(AnyBuf::OfTask),
        }
    }
}

impl TaskBuffer {
    /// Allocates `headroom` (a multiple of 8) and `capacity` bytes. `None` if out of memory.
    pub(super) fn new(headroom: usize, capacity: usize) -> Option<TaskBuffer> {
        debug_assert!(headroom.is_multiple_of(8));
        let buffer = TaskBuffer {
            tag: ObjectTag::of::<TaskBuffer>(),
            data: Cell::new(ptr::null_mut()),
            len: Cell::new(0),
            refused: Cell::new(Ok(())),
            head: Cell::new(ptr::null_mut()),
            capacity: Cell::new(0),
            space: Cell::new(0),
            headroom,
            memory: RefCell::new(FixedMemory::none()),
        };
        buffer.renew(capacity).then_some(buffer)
    }

    /// Reinitialises the buffer with this capacity. False if out of memory.
    #[must_use]
    pub(super) fn renew(&self, capacity: usize) -> bool {
        let memory = FixedMemory::new(self.headroom + capacity);
        memory.map(|memory| self.move_to(memory, capacity)).is_some()
    }

    fn move_to(&self, memory: FixedMemory, capacity: usize) {
        self.space.set(memory.len().saturating_sub(self.headroom));
        // Headroom and capacity are one allocation.
        self.head.set(memory.start().wrapping_add(self.headroom));
        self.capacity.set(capacity);
        drop(self.memory.replace(memory));
        self.reset();
    }

    #[inline]
    pub(super) fn reset(&self) {
        self.data.set(self.head.get());
        self.len.set(self.capacity.get());
        self.refused.set(Ok(()));
    }

    #[inline]
    pub(super) fn data(&self) -> *mut u8 {
        self.data.get()
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.len.get()
    }

    pub(super) fn head(&self) -> *mut u8 {
        self.head.get()
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity.get()
    }

    #[inline]
    pub(super) fn is_at_head(&self) -> bool {
        self.data.get() == self.head.get()
    }

    #[inline]
    pub(super) fn set_data(&self, data: *mut u8, len: usize) -> Result<(), DocaError> {
        if data != self.head.get() || len > self.capacity.get() {
            return self.set_unusual_data(data, len);
        }
        self.data.set(data);
        self.len.set(len);
        self.refused.set(Ok(()));
        Ok(())
    }

    #[cold]
    fn set_unusual_data(&self, data: *mut u8, len: usize) -> Result<(), DocaError> {
        let offset = data.addr().wrapping_sub(self.head.get().addr());
        let Some(available) = self.capacity.get().checked_sub(offset) else {
            self.refused.set(Err(DocaError::INVALID_VALUE));
            log!(
                warn,
                "doca_buf_set_data: the data begins outside of its buffer of {} bytes: begin at the result of doca_buf_get_data",
                self.capacity.get()
            );
            return Err(DocaError::INVALID_VALUE);
        };
        if len > available {
            log!(
                warn,
                "doca_buf_set_data: {len} bytes where the buffer has {available} left: \
                 doca_urom_service_set_max_comm_msg_size and uromd's --max-msg-size set how long a message may be"
            );
            self.refused.set(Err(DocaError::TOO_BIG));
            return Err(DocaError::INVALID_VALUE);
        }
        // Derived from the head: the caller's pointer may have another provenance.
        self.data.set(self.head.get().wrapping_add(offset));
        self.len.set(len);
        self.refused.set(Ok(()));
        Ok(())
    }

    #[inline]
    pub(super) fn check(&self) -> Result<(), DocaError> {
        self.refused.get().map_err(refuse)
    }

    #[inline]
    pub(super) fn write_headroom<const LEN: usize>(&self, bytes: &[u8; LEN], before: usize) {
        assert!(before + LEN <= self.headroom, "only a payload has headroom for a header");
        let target = self.head.get().wrapping_sub(before + LEN);
        // SAFETY: the memory has these bytes before the head, and only the library uses them.
        unsafe { target.copy_from_nonoverlapping(bytes.as_ptr(), LEN) };
    }

    /// Returns the last `ahead` bytes of headroom and the data as one range, for data at the head.
    #[inline]
    pub(super) fn whole(&self, ahead: usize) -> (*const u8, usize) {
        debug_assert!(self.is_at_head() && ahead <= self.headroom);
        (self.head.get().wrapping_sub(ahead), ahead + self.len.get())
    }

    /// Runs `f` with the range of [`whole`](TaskBuffer::whole).
    ///
    /// # Safety
    /// As [`with_data`](TaskBuffer::with_data).
    #[inline]
    pub(super) unsafe fn with_whole<R>(&self, ahead: usize, f: impl FnOnce(&[u8]) -> R) -> R {
        let (start, len) = self.whole(ahead);
        // SAFETY: headroom and data are one range of the memory, initialised and live during this
        // call; the caller promises that no thread writes.
        f(unsafe { std::slice::from_raw_parts(start, len) })
    }

    /// # Safety
    /// The host does not write to the buffer meanwhile: true inside its call to submit.
    #[inline]
    pub(super) unsafe fn with_data<R>(&self, f: impl FnOnce(&[u8]) -> R) -> R {
        // SAFETY: `set_data` keeps the range within the memory, which is initialised and live
        // during this call; the caller promises that no thread writes.
        f(unsafe { std::slice::from_raw_parts(self.data(), self.len.get()) })
    }

    /// Copies a payload into the buffer, growing it if needed. False if out of memory. Zeroes
    /// missing leading fields: hosts read them before they check the length.
    #[inline]
    #[must_use]
    pub(super) fn fill(&self, bytes: &[u8]) -> bool {
        let len = bytes.len();
        if self.space.get() < len.max(READABLE) && !self.grow(len) {
            return false;
        }
        let head = self.head.get();
        // SAFETY: the head has `space` bytes behind it, at least `READABLE` after the growth.
        unsafe { head.write_bytes(0, READABLE) };
        // SAFETY: likewise `len` initialised bytes, used only here while a task is in flight.
        copy(bytes, unsafe { std::slice::from_raw_parts_mut(head, bytes.len()) });
        self.capacity.set(len);
        self.reset();
        true
    }

    #[cold]
    fn grow(&self, len: usize) -> bool {
        self.renew((self.headroom + len.max(READABLE)).next_power_of_two())
    }
}

#[cold]
fn refuse(code: DocaError) -> DocaError {
    log!(
        warn,
        "a command is not sent: the last doca_buf_set_data of its payload was refused: {code}"
    );
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_stays_within_the_buffer() {
        let buffer = TaskBuffer::new(8, 100).unwrap();
        let head = buffer.data();
        for (offset, len) in [(0, 0), (0, 100), (100, 0), (40, 60)] {
            assert_eq!(buffer.set_data(head.wrapping_add(offset), len), Ok(()), "{offset} {len}");
        }
        for (offset, len) in [(-1, 0), (-8, 8), (101, 0), (isize::MIN, 1)] {
            assert_eq!(
                buffer.set_data(head.wrapping_offset(offset), len),
                Err(DocaError::INVALID_VALUE)
            );
            assert_eq!(buffer.check(), Err(DocaError::INVALID_VALUE), "{offset} {len}");
        }
        assert_eq!((buffer.len(), buffer.data()), (60, head.wrapping_add(40)));
    }

    #[test]
    fn a_response_is_its_payload_and_the_fields_that_a_short_one_lacks_are_zero() {
        let buffer = TaskBuffer::new(0, 0).unwrap();
        for len in [0, 64, 3, 5000, 8, 63] {
            assert!(buffer.fill(&[8; READABLE]) && buffer.fill(&[7; 5000][..len]));
            assert_eq!((buffer.len(), buffer.data().addr() % 8), (len, 0));
            // SAFETY: a filled buffer has at least 64 bytes.
            let bytes = unsafe { std::slice::from_raw_parts(buffer.data(), READABLE.max(len)) };
            assert!(
                bytes.iter().enumerate().all(|(at, byte)| *byte == if at < len { 7 } else { 0 })
            );
        }
    }
}
