//! Buffers of running operations. Moving a `Box` asserts unique access to its bytes, but UCX has a
//! pointer to these bytes. `MaybeUninit` makes no such assertion.

use std::any::Any;
use std::mem::{self, MaybeUninit};
use std::rc::Rc;

pub(crate) struct HeldBuffer<B>(MaybeUninit<B>);

impl<B> HeldBuffer<B> {
    #[inline]
    pub(crate) fn new(buffer: B) -> Self {
        HeldBuffer(MaybeUninit::new(buffer))
    }

    #[inline]
    pub(crate) fn get(&self) -> &B {
        // SAFETY: initialised by `new`, and not used after `take`.
        unsafe { self.0.assume_init_ref() }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut B {
        // SAFETY: initialised until `take`, the last use; `&mut self` excludes other references.
        unsafe { self.0.assume_init_mut() }
    }

    /// Takes the buffer out.
    ///
    /// # Safety
    /// This is the last use of the value.
    #[inline]
    pub(crate) unsafe fn take(&mut self) -> B {
        // SAFETY: initialised by `new`, and the caller does not use this value again.
        unsafe { self.0.assume_init_read() }
    }
}

pub(crate) struct ParkedBuffer<B> {
    buffer: HeldBuffer<B>,
    _keep: Option<Rc<dyn Any>>,
}

impl<B> ParkedBuffer<B> {
    /// # Safety
    /// `buffer` was not taken, and is not used again.
    pub(crate) unsafe fn new(buffer: &mut HeldBuffer<B>, keep: Option<Rc<dyn Any>>) -> Self {
        let buffer = HeldBuffer(mem::replace(&mut buffer.0, MaybeUninit::uninit()));
        ParkedBuffer { buffer, _keep: keep }
    }
}

impl<B> Drop for ParkedBuffer<B> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped here.
        drop(unsafe { self.buffer.take() });
    }
}
