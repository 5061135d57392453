//! Buffers of operations under way.
//!
//! A `Box` that is moved claims to be the only way to its bytes, by Rust's aliasing rules. UCX has
//! a pointer to these bytes and uses it after the move. `MaybeUninit` makes no such claim, so a
//! buffer goes in before UCX gets its pointer, and comes out when UCX is done.

use std::any::Any;
use std::mem::{self, MaybeUninit};
use std::rc::Rc;

/// A buffer that UCX may use while this value moves.
pub(crate) struct Held<B>(MaybeUninit<B>);

impl<B> Held<B> {
    #[inline]
    pub(crate) fn new(buffer: B) -> Self {
        Held(MaybeUninit::new(buffer))
    }

    #[inline]
    pub(crate) fn get(&self) -> &B {
        // SAFETY: initialised by `new`, and nobody asks once it was taken.
        unsafe { self.0.assume_init_ref() }
    }

    #[inline]
    pub(crate) fn get_mut(&mut self) -> &mut B {
        // SAFETY: the value is there until `take`, whose caller uses this no more; `&mut self`
        // excludes other references.
        unsafe { self.0.assume_init_mut() }
    }

    /// The buffer, to be given back.
    ///
    /// # Safety
    /// Called once, and nothing else after it.
    #[inline]
    pub(crate) unsafe fn take(&mut self) -> B {
        // SAFETY: initialised by `new`, and the caller uses this value no more.
        unsafe { self.0.assume_init_read() }
    }
}

/// What a request without a handle leaves in its slot: the buffer, and what else must live until
/// UCX is done.
pub(crate) struct Parked<B> {
    buffer: Held<B>,
    _keep: Option<Rc<dyn Any>>,
}

impl<B> Parked<B> {
    /// Takes the buffer over.
    ///
    /// # Safety
    /// `buffer` was not taken, and it is used no more.
    pub(crate) unsafe fn new(buffer: &mut Held<B>, keep: Option<Rc<dyn Any>>) -> Self {
        let buffer = Held(mem::replace(&mut buffer.0, MaybeUninit::uninit()));
        Parked { buffer, _keep: keep }
    }
}

impl<B> Drop for Parked<B> {
    fn drop(&mut self) {
        // SAFETY: the value goes away with this.
        drop(unsafe { self.buffer.take() });
    }
}
