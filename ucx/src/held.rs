//! Buffers of running operations.
//!
//! Moving a `Box` asserts unique access to its bytes under Rust's aliasing rules, but UCX has a
//! pointer to these bytes. `MaybeUninit` makes no such assertion.

use std::any::Any;
use std::mem::{self, MaybeUninit};
use std::rc::Rc;

pub(crate) struct Held<B>(MaybeUninit<B>);

impl<B> Held<B> {
    #[inline]
    pub(crate) fn new(buffer: B) -> Self {
        Held(MaybeUninit::new(buffer))
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

pub(crate) struct Parked<B> {
    buffer: Held<B>,
    _keep: Option<Rc<dyn Any>>,
}

impl<B> Parked<B> {
    /// # Safety
    /// `buffer` was not taken, and is not used again.
    pub(crate) unsafe fn new(buffer: &mut Held<B>, keep: Option<Rc<dyn Any>>) -> Self {
        let buffer = Held(mem::replace(&mut buffer.0, MaybeUninit::uninit()));
        Parked { buffer, _keep: keep }
    }
}

impl<B> Drop for Parked<B> {
    fn drop(&mut self) {
        // SAFETY: the value is dropped here.
        drop(unsafe { self.buffer.take() });
    }
}
