//! `doca_buf_*`. A task's buffer is never in a list, and its only reference is the task's.

use std::ffi::c_void;
use std::ptr;

use urom_abi::DocaError;
use urom_abi::host::Buf;
use urom_log::guard;
use urom_memory::Element;

use crate::buf::{AnyBuf, TaskBuffer};
use crate::handle::{Opaque, present, put};
use crate::map::descriptor::{BufDescriptor, host_pointer, pointer};
use crate::map::logged;

impl AnyBuf<'_> {
    /// Returns the element of an inventory or pool; `NOT_PERMITTED` for a task's buffer.
    pub(super) fn element(&self) -> Result<Element, DocaError> {
        match self {
            AnyBuf::OfMap(buf) => buf.element(),
            AnyBuf::OfTask(_) => Err(of_task()),
        }
    }

    fn set_data_len(&self, len: usize) -> Result<(), DocaError> {
        self.either(
            |buffer| buffer.set_data(buffer.data(), len),
            |element| element.set_data_len(len as u64).map_err(logged),
        )?
    }

    #[inline]
    fn either<T>(
        &self,
        of_task: impl FnOnce(&TaskBuffer) -> T,
        of_map: impl FnOnce(&Element) -> T,
    ) -> Result<T, DocaError> {
        match self {
            AnyBuf::OfTask(buffer) => Ok(of_task(buffer)),
            AnyBuf::OfMap(buf) => Ok(of_map(&buf.element()?)),
        }
    }
}

#[cold]
fn of_task() -> DocaError {
    log!(warn, "the buffer is a task's: it lacks references of its own, and cannot join a list");
    DocaError::NOT_PERMITTED
}

/// # Safety
/// `target` is null or writable.
unsafe fn put_if_wanted(target: *mut u16, value: u16) -> Result<(), DocaError> {
    if target.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { put(target, value) }
}

functions! {
    fn doca_buf_get_data[buf: *const Buf](data: *mut *mut c_void) => data {
        buf.either(|task| task.data().cast(), |element| pointer(element, element.span().data))?
    }

    fn doca_buf_get_data_len[buf: *const Buf](len: *mut usize) => len {
        buf.either(TaskBuffer::len, |element| element.span().data_len as usize)?
    }

    fn doca_buf_set_data[buf: *mut Buf](data: *mut c_void, len: usize) {
        present(data)?;
        match buf {
            AnyBuf::OfTask(buffer) => buffer.set_data(data.cast(), len),
            AnyBuf::OfMap(buf) => buf.set_data(data, len),
        }
    }

    fn doca_buf_set_data_len[buf: *mut Buf](len: usize) { buf.set_data_len(len) }

    fn doca_buf_reset_data_len[buf: *mut Buf]() { buf.set_data_len(0) }

    fn doca_buf_get_head[buf: *const Buf](head: *mut *mut c_void) => head {
        buf.either(|task| task.head().cast(), |element| pointer(element, element.span().head))?
    }

    fn doca_buf_get_len[buf: *const Buf](len: *mut usize) => len {
        buf.either(TaskBuffer::capacity, |element| element.span().len as usize)?
    }

    fn doca_buf_inc_refcount[buf: *mut Buf](before: *mut u16) {
        let count = buf.element()?.retain().map_err(logged)?;
        // SAFETY: NULL, or the host's pointer for the result.
        unsafe { put_if_wanted(before, count) }
    }

    fn doca_buf_dec_refcount[buf: *mut Buf](before: *mut u16) {
        let count = match buf {
            AnyBuf::OfMap(buf) => BufDescriptor::release(buf)?,
            AnyBuf::OfTask(_) => return Err(of_task()),
        };
        // SAFETY: NULL, or the host's pointer for the result.
        unsafe { put_if_wanted(before, count) }
    }

    fn doca_buf_get_refcount[buf: *const Buf](count: *mut u16) => count {
        buf.either(|_| 1, Element::references)?
    }

    fn doca_buf_get_next_in_list[buf: *mut Buf](next: *mut *mut Buf) => next {
        buf.either(|_| ptr::null_mut(), |element| {
            element.next().map_or(ptr::null_mut(), |next| host_pointer(&next))
        })?
    }

    fn doca_buf_get_last_in_list[](pointer: *mut Buf, last: *mut *mut Buf) => last {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let buf = unsafe { Buf::find(pointer) }?;
        buf.either(|_| pointer, |element| host_pointer(&element.last()))?
    }

    fn doca_buf_is_last_in_list[buf: *const Buf](is_last: *mut u8) => is_last {
        buf.either(|_| 1, |element| element.is_last().into())?
    }

    fn doca_buf_is_first_in_list[buf: *const Buf](is_first: *mut u8) => is_first {
        buf.either(|_| 1, |element| element.is_first().into())?
    }

    fn doca_buf_is_in_list[buf: *const Buf](is_in_list: *mut u8) => is_in_list {
        buf.either(|_| 0, |element| (!element.is_first() || !element.is_last()).into())?
    }

    fn doca_buf_get_list_len[buf: *const Buf](count: *mut u32) => count {
        buf.either(|_| 1, Element::list_len)?
    }

    fn doca_buf_chain_list[first: *mut Buf, second: *mut Buf]() {
        let (first, second) = (first.element()?, second.element()?);
        first.chain(&first.last(), &second).map_err(logged)
    }

    fn doca_buf_chain_list_tail[head: *mut Buf, tail: *mut Buf, second: *mut Buf]() {
        let (head, tail) = (head.element()?, tail.element()?);
        head.chain(&tail, &second.element()?).map_err(logged)
    }

    fn doca_buf_unchain_list[first: *mut Buf, second: *mut Buf]() {
        first.element()?.unchain(&second.element()?).map_err(logged)
    }
}
