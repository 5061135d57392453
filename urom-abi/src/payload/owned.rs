//! The payload of a notification, which owns its memory.

use std::marker::PhantomData;
use std::mem;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};

use super::owner::{Foreign, Storage};
use super::{Elements, unit};
use crate::descriptor::NotificationDesc;
use crate::wire::Plain;

/// The payload of a notification: a run of `T`, by default bytes, which owns its memory.
///
/// | source | memory | copies |
/// | --- | --- | --- |
/// | the generated `payload` function of a notification | the tail of its descriptor | none |
/// | a reply on the host | the task's response, until the payload is dropped | none |
/// | `Vec<u8>`, `Box<[u8]>` | the heap | one, into the notification |
/// | a slice, a `Vec` of other elements | the heap | two |
///
/// The bytes never move, so UCX can receive into them. On the host, a payload keeps its task in
/// use, which counts against `max_inflight`; [`to_vec`](Self::to_vec) makes an independent copy.
///
/// ```
/// use urom_abi::Payload;
/// let mut counts: Payload<u32> = Payload::from(vec![3, 5, 8]);
/// counts.truncate(2);
/// counts.as_bytes_mut()[0] = 4;
/// assert_eq!((counts.to_vec(), counts.elements().get(1)), (vec![4, 5], Some(5)));
///
/// let mut bytes: Payload = counts.into_bytes();
/// bytes.advance(4);
/// let counts: Payload<u32> = bytes.cast().expect("one element of four bytes");
/// assert_eq!(counts.to_vec(), [5]);
/// ```
///
/// It belongs to the thread of its plugin or worker:
///
/// ```compile_fail,E0277
/// fn assert_send<T: Send>() {}
/// assert_send::<urom_abi::Payload>();
/// ```
pub struct Payload<T = u8> {
    bytes: NonNull<u8>,
    /// In bytes.
    len: usize,
    owner: Storage,
    of: PhantomData<T>,
}

impl<T: Plain> Payload<T> {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        self.len / unit::<T>()
    }

    /// Returns whether the length is 0.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the elements.
    pub fn elements(&self) -> Elements<'_, T> {
        self.seen()
    }

    /// Copies the elements.
    pub fn to_vec(&self) -> Vec<T> {
        self.elements().to_vec()
    }

    /// Truncates to `len` elements. Does not shrink the memory.
    pub fn truncate(&mut self, len: usize) {
        self.len = self.len().min(len) * unit::<T>();
    }
}

impl<T> Payload<T> {
    /// Returns the bytes of the elements.
    pub fn as_bytes(&self) -> &[u8] {
        // SAFETY: the owner keeps `len` initialised bytes, unwritten while `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.bytes.as_ptr(), self.len) }
    }

    /// Returns the bytes of the elements, writable.
    pub fn as_bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `as_bytes`; `self` is exclusive, and payloads of one owner are disjoint.
        unsafe { std::slice::from_raw_parts_mut(self.bytes.as_ptr(), self.len) }
    }

    pub(crate) fn seen(&self) -> Elements<'_, T> {
        // The length is always a multiple of the element size.
        Elements::of_bytes(self.as_bytes()).unwrap_or_default()
    }

    /// Returns the same memory as bytes.
    pub fn into_bytes(self) -> Payload {
        self.retyped()
    }

    fn retyped<U>(self) -> Payload<U> {
        Payload { bytes: self.bytes, len: self.len, owner: self.owner, of: PhantomData }
    }

    fn on_heap(bytes: Box<[u8]>) -> Payload<T> {
        unsafe fn free([start, len]: [*const (); 2]) {
            let bytes = ptr::slice_from_raw_parts_mut(start.cast_mut().cast::<u8>(), len.addr());
            // SAFETY: the box below was leaked for these bytes, and `release` runs once.
            drop(unsafe { Box::from_raw(bytes) });
        }
        if bytes.is_empty() {
            return Payload::default();
        }
        let bytes = NonNull::from(Box::leak(bytes));
        let words = [bytes.as_ptr().cast_const().cast(), ptr::without_provenance(bytes.len())];
        // SAFETY: only this payload uses the bytes, and any thread may free them.
        unsafe { Payload::foreign(bytes, words, free) }.retyped()
    }
}

impl Payload {
    /// Returns the same memory as elements of another type.
    ///
    /// # Errors
    /// The payload, when its length is not a multiple of the element size.
    pub fn cast<T: Plain>(self) -> Result<Payload<T>, Payload> {
        self.of_elements()
    }

    pub(crate) fn of_elements<T>(self) -> Result<Payload<T>, Payload> {
        if self.len.is_multiple_of(unit::<T>()) { Ok(self.retyped()) } else { Err(self) }
    }

    /// Removes the first `count` bytes, or all.
    #[inline]
    pub fn advance(&mut self, count: usize) {
        let count = count.min(self.len);
        // SAFETY: `count` is at most `len`.
        self.bytes = unsafe { self.bytes.add(count) };
        self.len -= count;
    }

    /// Splits off the first `count` bytes, or all. Both parts keep the memory.
    pub(crate) fn split_front(&mut self, count: usize) -> Payload {
        if count >= self.len {
            return mem::take(self);
        }
        if count == 0 {
            return Payload::default();
        }
        let front =
            Payload { bytes: self.bytes, len: count, owner: self.owner.share(), of: PhantomData };
        self.advance(count);
        front
    }

    /// Returns the bytes of `desc` from `from` on, or an empty payload.
    #[inline]
    pub(crate) fn in_descriptor(desc: NotificationDesc, from: usize) -> Payload {
        let len = desc.payload().len();
        let Some(bytes) = NonNull::new(desc.body()) else { return Payload::default() };
        let mut payload = Payload { bytes, len, owner: Storage::Descriptor(desc), of: PhantomData };
        payload.advance(from);
        payload
    }

    /// Returns the descriptor, truncated to `from` bytes and this payload as its tail.
    ///
    /// # Errors
    /// The payload, when it does not start at byte `from` of a descriptor.
    #[inline]
    pub(crate) fn into_descriptor(self, from: usize) -> Result<NotificationDesc, Payload> {
        match self {
            Payload { bytes, len, owner: Storage::Descriptor(mut desc), .. }
                if desc
                    .payload()
                    .get(from..)
                    .is_some_and(|tail| tail.as_ptr() == bytes.as_ptr()) =>
            {
                desc.truncate(from + len);
                Ok(desc)
            }
            other => Err(other),
        }
    }

    /// Wraps foreign memory. Dropping the payload calls `release(words)`.
    ///
    /// # Safety
    /// Until `release` is called, `bytes` are initialised, and nothing else accesses them.
    /// `release` may be called once with `words`, on this thread, also inside a callback.
    #[doc(hidden)]
    pub unsafe fn foreign(
        bytes: NonNull<[u8]>,
        words: [*const (); 2],
        release: unsafe fn([*const (); 2]),
    ) -> Payload {
        let owner = Storage::Foreign(Foreign { release, words });
        Payload { bytes: bytes.cast(), len: bytes.len(), owner, of: PhantomData }
    }
}

impl<T> Default for Payload<T> {
    /// Returns an empty payload without allocating.
    fn default() -> Self {
        Payload { bytes: NonNull::dangling(), len: 0, owner: Storage::Nothing, of: PhantomData }
    }
}

impl<T: Plain> From<Vec<T>> for Payload<T> {
    /// Takes over a vector of bytes; releasing excess capacity can move them. Elements with larger
    /// alignment are copied, because the heap requires the same layout for freeing.
    fn from(elements: Vec<T>) -> Self {
        let _ = unit::<T>();
        let bytes = match bytemuck::allocation::try_cast_vec::<T, u8>(elements) {
            Ok(bytes) => bytes.into_boxed_slice(),
            Err((_, elements)) => bytemuck::cast_slice(&elements).into(),
        };
        Payload::on_heap(bytes)
    }
}

impl From<Box<[u8]>> for Payload {
    fn from(bytes: Box<[u8]>) -> Self {
        Payload::on_heap(bytes)
    }
}

impl<T: Plain> From<&[T]> for Payload<T> {
    fn from(elements: &[T]) -> Self {
        let _ = unit::<T>();
        Payload::on_heap(bytemuck::cast_slice(elements).into())
    }
}

impl<T: Plain, const N: usize> From<&[T; N]> for Payload<T> {
    fn from(elements: &[T; N]) -> Self {
        Payload::from(elements.as_slice())
    }
}

impl<T> Clone for Payload<T> {
    fn clone(&self) -> Self {
        Payload::on_heap(self.as_bytes().into())
    }
}

impl Deref for Payload {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        self.as_bytes()
    }
}

impl DerefMut for Payload {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u8] {
        self.as_bytes_mut()
    }
}

// SAFETY: the bytes belong to a descriptor, a task or the heap, never to the payload itself. Moving
// it does not move them, and neither do its `&self` methods.
unsafe impl stable_deref_trait::StableDeref for Payload {}

impl AsRef<[u8]> for Payload {
    fn as_ref(&self) -> &[u8] {
        self
    }
}
