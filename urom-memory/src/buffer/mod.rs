//! [`Buffer`]: a part of a map, and the data in it.

mod element;

use std::fmt;
use std::ops::RangeBounds;

use urom_abi::DocaError;
use urom_abi::memory::MemoryRange;

#[doc(hidden)]
pub use self::element::{BufferSpan, Element};
pub(crate) use self::element::{InventoryElements, not_in_use};
use crate::error::{Error, Result};
use crate::mmap::ShareGuard;
use crate::range::within;
use crate::remote::elsewhere;
use crate::view::View;

/// A part of a memory map, and the data in it (`doca_buf`).
///
/// ```text
/// | headroom |      data      | tailroom |
/// ^ head                                 ^ head + len
/// ```
///
/// [`append`](Self::append) adds data in the tailroom. The headroom is for the program.
///
/// A buffer keeps its map's memory alive, and stays on the thread of its inventory. Buffers can be
/// chained to a list, which is then one buffer. Some functions use the whole list, as documented;
/// all others use its first element. Dropping the last reference returns all elements of the list
/// to their inventories. Offsets and lengths are in bytes.
pub struct Buffer {
    element: Element,
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut fields = f.debug_struct("Buffer");
        fields.field("memory", &self.memory()).field("data", &self.data()).finish_non_exhaustive()
    }
}

impl Buffer {
    pub(crate) fn of(element: Element) -> Buffer {
        Buffer { element }
    }

    /// Returns the whole memory (`doca_buf_get_head`, `doca_buf_get_len`).
    #[must_use]
    pub fn memory(&self) -> MemoryRange {
        let span = self.element.span();
        self.element.range(span.head, span.len)
    }

    /// Returns the data (`doca_buf_get_data`, `doca_buf_get_data_len`).
    #[must_use]
    pub fn data(&self) -> MemoryRange {
        let span = self.element.span();
        self.element.range(span.data, span.data_len)
    }

    /// Returns the number of bytes before the data.
    #[must_use]
    pub fn headroom(&self) -> u64 {
        let span = self.element.span();
        span.data - span.head
    }

    /// Returns the number of bytes after the data.
    #[must_use]
    pub fn tailroom(&self) -> u64 {
        self.element.span().tailroom()
    }

    /// Sets the data to a range, relative to the head (`doca_buf_set_data`).
    ///
    /// # Errors
    /// `INVALID_VALUE` when the range does not lie within the buffer.
    pub fn set_data(&self, range: impl RangeBounds<u64>) -> Result<()> {
        self.element.check()?;
        let span = self.element.span();
        let (offset, len) = within(range, span.len)?;
        self.element.set_data(span.head + offset, len)
    }

    /// Sets the length of the data (`doca_buf_set_data_len`).
    ///
    /// # Errors
    /// `INVALID_VALUE` when the data would not lie within the buffer.
    pub fn set_data_len(&self, len: u64) -> Result<()> {
        self.element.check()?;
        self.element.set_data_len(len)
    }

    /// Empties the data of all elements of the list (`doca_buf_reset_data_len`).
    pub fn reset(&self) {
        for element in self.element.list() {
            let span = element.span();
            let reset = element.set_data(span.data, 0);
            debug_assert!(reset.is_ok(), "where data began, none fits");
        }
    }

    /// Returns all bytes from the head on, which others may write at any time.
    ///
    /// # Errors
    /// `NOT_PERMITTED` for memory that is not mapped here.
    pub fn view(&self) -> Result<View<'_>> {
        let span = self.element.span();
        self.view_of(span.head, span.len)
    }

    /// Returns the bytes of the data, which others may write at any time.
    ///
    /// # Errors
    /// `NOT_PERMITTED` for memory that is not mapped here.
    pub fn data_view(&self) -> Result<View<'_>> {
        let span = self.element.span();
        self.view_of(span.data, span.data_len)
    }

    fn view_of(&self, offset: u64, len: u64) -> Result<View<'_>> {
        self.element.check()?;
        self.element.with_view(|view| {
            let part = view.slice(offset..offset + len)?;
            // SAFETY: the element keeps the map, which has these bytes. The view borrows it.
            Ok(unsafe { View::from_raw(part.as_ptr(), part.len(), part.is_writable()) })
        })
    }

    /// Returns another reference to the same buffer (`doca_buf_inc_refcount`).
    ///
    /// # Errors
    /// `TOO_BIG` if the buffer has 65,535 references.
    pub fn try_clone(&self) -> Result<Buffer> {
        self.element.check()?;
        self.element.retain()?;
        Ok(Buffer { element: self.element.clone() })
    }

    /// Returns the number of references (`doca_buf_get_refcount`).
    #[must_use]
    pub fn references(&self) -> u16 {
        self.element.references()
    }

    /// Appends another buffer or list (`doca_buf_chain_list`), which becomes a part of this buffer.
    ///
    /// # Errors
    /// `IN_USE` when `other` has more than one reference; the passed reference is dropped.
    pub fn chain(&self, other: Buffer) -> Result<()> {
        self.element.check()?;
        // The owner of the only reference cannot be `self`.
        if other.references() != 1 {
            return Err(Error::new(
                DocaError::IN_USE,
                "a buffer with several references cannot become a part of a list: end the others",
            ));
        }
        // Dropping `other` does not release it: the list has its reference until `unchain`.
        self.element.chain(&self.element.last(), &other.element)
    }

    /// Splits the list before element `at`, from 0, and returns the tail (`doca_buf_unchain_list`).
    ///
    /// # Errors
    /// `INVALID_VALUE` for 0, and beyond the end of the list.
    pub fn unchain(&self, at: usize) -> Result<Buffer> {
        self.element.check()?;
        let element = self.element.list().nth(at).filter(|_| at > 0).ok_or_else(|| {
            let len = self.list_len();
            Error::invalid(format!(
                "a list of {len} buffers cannot be split in front of number {at}"
            ))
        })?;
        self.element.unchain(&element)?;
        Ok(Buffer { element })
    }

    /// Returns the number of elements of the list; at least 1 (`doca_buf_get_list_len`).
    #[must_use]
    pub fn list_len(&self) -> u32 {
        self.element.list_len()
    }

    /// Returns the ranges for a received message: each element's bytes from the data's start on.
    pub fn receive_ranges(&self) -> impl Iterator<Item = MemoryRange> {
        self.element.list().map(|element| {
            let span = element.span();
            element.range(span.data, span.head + span.len - span.data)
        })
    }

    /// Sets the data after a receive of `len` bytes into the [ranges](Self::receive_ranges).
    ///
    /// # Errors
    /// `TOO_BIG` when the ranges have fewer bytes.
    pub fn received(&self, len: u64) -> Result<()> {
        self.element.check()?;
        let mut left = len;
        for element in self.element.list() {
            let span = element.span();
            let part = left.min(span.head + span.len - span.data);
            element.set_data_len(part)?;
            left -= part;
        }
        match left {
            0 => Ok(()),
            _ => Err(Error::new(DocaError::TOO_BIG, format!("{left} bytes do not fit"))),
        }
    }

    /// Returns the maps of the list's elements, or `NOT_PERMITTED` for another process's map.
    #[doc(hidden)]
    pub fn guards(&self) -> impl Iterator<Item = Result<ShareGuard>> {
        self.element.list().map(|element| {
            let guard = element.with_map(|map| map.backing.is_local().then(|| ShareGuard::of(map)));
            guard.flatten().ok_or_else(|| elsewhere(element.range(0, 0).memory))
        })
    }

    /// Returns the data of each element of the list.
    pub fn list(&self) -> impl Iterator<Item = MemoryRange> {
        self.element.list().map(|element| {
            let span = element.span();
            element.range(span.data, span.data_len)
        })
    }

    /// Copies the data of all elements of the list to the beginning of `out`. Returns its length.
    ///
    /// # Errors
    /// `TOO_BIG` when `out` is too short, `NOT_PERMITTED` for memory that is not mapped here.
    pub fn gather(&self, out: &mut [u8]) -> Result<usize> {
        self.element.check()?;
        let len: u64 = self.element.list().map(|element| element.span().data_len).sum();
        let size = out.len();
        let Some(mut out) = usize::try_from(len).ok().and_then(|len| out.get_mut(..len)) else {
            return Err(Error::new(
                DocaError::TOO_BIG,
                format!("the buffer has {len} bytes of data, and the target {size}"),
            ));
        };
        for element in self.element.list() {
            let data = element.span();
            // `out` is as long as the sum, which only this thread can change.
            let (part, rest) = out.split_at_mut(data.data_len as usize);
            element.with_view(|view| view.copy_to(data.data, part))?;
            out = rest;
        }
        Ok(len as usize)
    }

    /// Appends bytes to the data. They fill the list's tailrooms in order. Errors append nothing.
    ///
    /// # Errors
    /// `TOO_BIG` when they do not fit, `NOT_PERMITTED` for memory not mapped here or read-only.
    pub fn append(&self, bytes: &[u8]) -> Result<()> {
        self.element.check()?;
        let tailroom: u64 = self.element.list().map(|element| element.span().tailroom()).sum();
        if tailroom < bytes.len() as u64 {
            return Err(Error::new(
                DocaError::TOO_BIG,
                format!("{} bytes do not fit into {tailroom} bytes of tailroom", bytes.len()),
            ));
        }
        for element in self.element.list() {
            element.with_view(|view| view.writable())?;
        }
        let mut rest = bytes;
        for element in self.element.list() {
            let span = element.span();
            let (part, behind) = rest.split_at(rest.len().min(span.tailroom() as usize));
            let end = span.data + span.data_len;
            element.with_view(|view| view.copy_from(end, part))?;
            element.set_data_len(span.data_len + part.len() as u64)?;
            rest = behind;
        }
        Ok(())
    }

    pub(crate) fn element(&self) -> &Element {
        &self.element
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // Fails for an element of a list, which is released with the list's first element.
        let _ = self.element.release(|_| ());
    }
}
