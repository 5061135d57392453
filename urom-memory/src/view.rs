//! [`View`]: memory that another process may write at any time.

use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::ptr::NonNull;
use std::sync::atomic::AtomicU64;
use std::{fmt, ptr, slice};

use bytemuck::Pod;

use crate::copy::{copy, copy_within};
use crate::error::{Error, Result};
use crate::range::within;

/// Bytes that another process may write at any time.
///
/// Safe functions do not return references to these bytes: they copy them, or return atomic words.
/// A copy that races with a writer mixes old and new bytes, but checks of the copy stay valid.
///
/// The copies call the C library's `memcpy`, hidden from the compiler.
///
/// An access outside of the view fails with `INVALID_VALUE`, a write to a read-only view with
/// `NOT_PERMITTED`. Offsets and lengths are in bytes. Any thread may use a view.
#[derive(Clone, Copy)]
pub struct View<'a> {
    start: *mut u8,
    len: u64,
    is_writable: bool,
    memory: PhantomData<&'a ()>,
}

// SAFETY: only opaque copies and atomics access the bytes, which may race with any thread.
unsafe impl Send for View<'_> {}
// SAFETY: as above.
unsafe impl Sync for View<'_> {}

impl<'a> View<'a> {
    /// Makes a view of raw memory.
    ///
    /// # Safety
    /// For `'a`, `start` is valid for reads of `len` bytes by any thread, and for writes if
    /// `is_writable`. No Rust reference covers these bytes, except to atomics.
    pub unsafe fn from_raw(start: *mut u8, len: u64, is_writable: bool) -> View<'a> {
        View { start, len, is_writable, memory: PhantomData }
    }

    /// Returns the length in bytes.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns whether the view is empty.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns whether the view is writable.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        self.is_writable
    }

    /// Returns the address of the first byte in this process.
    #[must_use]
    pub fn as_ptr(&self) -> *mut u8 {
        self.start
    }

    #[inline]
    fn at(&self, offset: u64, len: u64) -> Result<*mut u8> {
        match offset.checked_add(len) {
            // Both are within this process's memory, so they fit a pointer.
            Some(end) if end <= self.len => Ok(self.start.wrapping_add(offset as usize)),
            _ => Err(Error::out_of_range(offset, len, self.len)),
        }
    }

    #[inline]
    pub(crate) fn writable(&self) -> Result<()> {
        if self.is_writable { Ok(()) } else { Err(read_only()) }
    }

    /// Copies `target.len()` bytes from `offset` on to memory of this process.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the view does not contain all of these bytes.
    #[inline]
    pub fn copy_to(&self, offset: u64, target: &mut [u8]) -> Result<()> {
        // SAFETY: `target` is borrowed exclusively.
        unsafe { self.copy_to_raw(offset, target.as_mut_ptr(), target.len() as u64) }
    }

    /// As [`copy_to`](Self::copy_to).
    ///
    /// # Safety
    /// `target` is valid for writes of `len` bytes, and no other reference covers these bytes.
    #[inline]
    pub(crate) unsafe fn copy_to_raw(&self, offset: u64, target: *mut u8, len: u64) -> Result<()> {
        let from = self.at(offset, len)?;
        // SAFETY: `at` found `len` bytes in the view; the caller's promise for `target`.
        unsafe { copy(from, target, len as usize) };
        Ok(())
    }

    /// Copies bytes of this process into the view, from `offset` on.
    ///
    /// # Errors
    /// `INVALID_VALUE` when they do not fit, `NOT_PERMITTED` for a read-only view.
    #[inline]
    pub fn copy_from(&self, offset: u64, bytes: &[u8]) -> Result<()> {
        // SAFETY: the borrow prevents writes to `bytes`.
        unsafe { self.copy_from_raw(offset, bytes.as_ptr(), bytes.len() as u64) }
    }

    /// As [`copy_from`](Self::copy_from).
    ///
    /// # Safety
    /// `bytes` is valid for reads of `len` bytes, and no mutable reference covers these bytes.
    #[inline]
    pub(crate) unsafe fn copy_from_raw(
        &self,
        offset: u64,
        bytes: *const u8,
        len: u64,
    ) -> Result<()> {
        let to = self.at(offset, len)?;
        self.writable()?;
        // SAFETY: `at` found `len` bytes in the view, which is writable; the caller's promise.
        unsafe { copy(bytes, to, len as usize) };
        Ok(())
    }

    /// Copies all bytes of the view `from` into this view, from `offset` on. The two may overlap.
    ///
    /// # Errors
    /// As [`copy_from`](Self::copy_from).
    pub fn copy_view(&self, offset: u64, from: &View<'_>) -> Result<()> {
        let to = self.at(offset, from.len)?;
        self.writable()?;
        // SAFETY: both views contain `from.len` bytes, and this view is writable.
        unsafe { copy_within(from.start, to, from.len as usize) };
        Ok(())
    }

    /// Returns the element `index` of the view as an array of `T`. It need not be aligned.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the element does not lie within the view.
    #[inline]
    pub fn get<T: Pod>(&self, index: u64) -> Result<T> {
        let from = self.element::<T>(index)?;
        let mut value = T::zeroed();
        // SAFETY: the element lies within the view, and the value is this function's.
        unsafe { copy(from, (&raw mut value).cast(), size_of::<T>()) };
        Ok(value)
    }

    /// Stores the element `index` of the view as an array of `T`. Readers may see a part of the
    /// value: use [`atomic_u64`](Self::atomic_u64) to prevent that.
    ///
    /// # Errors
    /// `INVALID_VALUE` for an element outside of the view, `NOT_PERMITTED` for a read-only view.
    #[inline]
    pub fn set<T: Pod>(&self, index: u64, value: T) -> Result<()> {
        let to = self.element::<T>(index)?;
        self.writable()?;
        // SAFETY: the view is writable and contains the element.
        unsafe { copy((&raw const value).cast(), to, size_of::<T>()) };
        Ok(())
    }

    #[inline]
    fn element<T>(&self, index: u64) -> Result<*mut u8> {
        let size = size_of::<T>() as u64;
        match index.checked_mul(size) {
            Some(offset) => self.at(offset, size),
            None => Err(Error::out_of_range(u64::MAX, size, self.len)),
        }
    }

    /// Returns the 8 bytes at `offset` as an atomic word, which several processes may change.
    /// Publish with `Ordering::Release` and load with `Acquire`.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the word does not lie within the view or its address is not a multiple
    /// of 8; `NOT_PERMITTED` for a read-only view: see [`load_u64`](Self::load_u64).
    pub fn atomic_u64(&self, offset: u64) -> Result<&'a AtomicU64> {
        self.writable()?;
        let word = self.aligned(offset)?;
        // SAFETY: the word is aligned, within the view, and writable for `'a`. All other accesses
        // are opaque copies, and atomics of this and other processes.
        Ok(unsafe { AtomicU64::from_ptr(word.as_ptr()) })
    }

    #[inline]
    pub(crate) fn aligned(&self, offset: u64) -> Result<NonNull<u64>> {
        let word = self.at(offset, 8)?.cast::<u64>();
        NonNull::new(word).filter(|word| word.is_aligned()).ok_or_else(|| {
            Error::invalid(format!(
                "the atomic word at {offset} is not aligned: its address must be a multiple of 8"
            ))
        })
    }

    /// Returns a part of the view.
    ///
    /// # Errors
    /// `INVALID_VALUE` when the part does not lie within the view.
    pub fn slice(&self, range: impl RangeBounds<u64>) -> Result<View<'a>> {
        let (start, len) = within(range, self.len)?;
        Ok(View { start: self.at(start, len)?, len, ..*self })
    }

    /// Copies the view piece by piece into `buffer`, and lends each piece. With a buffer of 16 KiB
    /// or more that stays in the processor's cache, this is as fast as one copy.
    ///
    /// ```
    /// use urom_memory::{Access, Mmap};
    ///
    /// let map = Mmap::from_vec(vec![1; 100_000], Access::LOCAL_READ_WRITE)?;
    /// let (mut buffer, mut sum) = ([0_u8; 16_384], 0_u64);
    /// let mut chunks = map.view().chunks(&mut buffer)?;
    /// while let Some(chunk) = chunks.next_chunk() {
    ///     sum += chunk.iter().map(|byte| u64::from(*byte)).sum::<u64>();
    /// }
    /// assert_eq!(sum, 100_000);
    /// # Ok::<(), urom_memory::Error>(())
    /// ```
    ///
    /// # Errors
    /// `INVALID_VALUE` when the length is not a multiple of the size of `T`, or `buffer` is empty.
    pub fn chunks<'b, T: Pod>(&self, buffer: &'b mut [T]) -> Result<Chunks<'a, 'b, T>> {
        self.is_array_of::<T>(buffer.len())?;
        Ok(Chunks { view: *self, buffer, at: 0 })
    }

    /// Copies the view piece by piece into `buffer`, lets `change` change each piece, and copies it
    /// back. Other writes to a piece between its two copies are lost.
    ///
    /// # Errors
    /// As [`chunks`](Self::chunks); `NOT_PERMITTED` for a read-only view.
    pub fn update<T: Pod>(&self, buffer: &mut [T], mut change: impl FnMut(&mut [T])) -> Result<()> {
        self.writable()?;
        self.is_array_of::<T>(buffer.len())?;
        let mut at = 0;
        while let Some(piece) = self.piece(&mut at, buffer) {
            let offset = at - size_of_val(piece) as u64;
            change(piece);
            self.copy_from(offset, bytemuck::cast_slice(piece))?;
        }
        Ok(())
    }

    fn is_array_of<T>(&self, max: usize) -> Result<()> {
        let size = size_of::<T>() as u64;
        if max == 0 || size == 0 || !self.len.is_multiple_of(size) {
            return Err(Error::invalid(format!(
                "memory of {} bytes cannot be read in pieces of up to {max} elements of {size} bytes",
                self.len
            )));
        }
        Ok(())
    }

    /// Copies the next piece after `at`, and advances `at` to its end.
    #[inline]
    fn piece<'b, T: Pod>(&self, at: &mut u64, buffer: &'b mut [T]) -> Option<&'b mut [T]> {
        let left = self.len.checked_sub(*at).filter(|left| *left > 0)?;
        let count = (left / size_of::<T>() as u64).min(buffer.len() as u64);
        let piece = buffer.get_mut(..count as usize)?;
        let bytes = bytemuck::cast_slice_mut(piece);
        self.copy_to(*at, bytes).ok()?;
        *at += bytes.len() as u64;
        Some(piece)
    }

    /// Returns the bytes as a slice.
    ///
    /// # Safety
    /// No thread of this or another process writes the bytes while the slice is used.
    #[must_use]
    pub unsafe fn as_slice(&self) -> &'a [u8] {
        let start = if self.start.is_null() { ptr::dangling() } else { self.start.cast_const() };
        // SAFETY: the slice covers the view's bytes; the caller's promise.
        unsafe { slice::from_raw_parts(start, self.len as usize) }
    }

    /// Returns the bytes as a mutable slice.
    ///
    /// # Safety
    /// No other thread of any process reads or writes the bytes while the slice is used.
    ///
    /// # Errors
    /// `NOT_PERMITTED` for a read-only view.
    #[allow(clippy::mut_from_ref, reason = "the caller promises that no other code uses the bytes")]
    pub unsafe fn as_mut_slice(&self) -> Result<&'a mut [u8]> {
        self.writable()?;
        let start = if self.start.is_null() { ptr::dangling_mut() } else { self.start };
        // SAFETY: the slice covers the view's bytes, which are writable; the caller's promise.
        Ok(unsafe { slice::from_raw_parts_mut(start, self.len as usize) })
    }
}

#[cold]
fn read_only() -> Error {
    Error::not_permitted(
        "the memory is read-only here: its owner needs LOCAL_READ_WRITE to write to it, and others \
         need a permission such as PCI_READ_WRITE",
    )
}

impl fmt::Debug for View<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = if self.is_writable { "writable" } else { "read-only" };
        write!(f, "View({} {kind} bytes at {:p})", self.len, self.start)
    }
}

/// Pieces of a view: see [`View::chunks`].
#[derive(Debug)]
pub struct Chunks<'a, 'b, T> {
    view: View<'a>,
    buffer: &'b mut [T],
    at: u64,
}

impl<T: Pod> Chunks<'_, '_, T> {
    /// Returns a copy of the next piece, or `None` at the end. The last may be shorter.
    #[inline]
    pub fn next_chunk(&mut self) -> Option<&[T]> {
        self.view.piece(&mut self.at, self.buffer).map(|piece| &*piece)
    }
}
