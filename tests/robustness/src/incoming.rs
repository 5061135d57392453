//! A notification in foreign memory, such as a host's task.

use std::cell::Cell;
use std::ptr::NonNull;

use urom_abi::Payload;
use urom_abi::protocol::Incoming;

thread_local! {
    static LIVING: Cell<usize> = const { Cell::new(0) };
}

pub fn living() -> usize {
    LIVING.get()
}

pub struct Arrived {
    bytes: NonNull<[u8]>,
}

impl Arrived {
    /// Copies the bytes into an allocation of exactly their length.
    pub fn new(bytes: &[u8]) -> Arrived {
        LIVING.set(LIVING.get() + 1);
        Arrived { bytes: NonNull::from(Box::leak(crate::exact(bytes))) }
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        // SAFETY: the box was leaked in `new`, and this value is its only owner.
        drop(unsafe { Box::from_raw(self.bytes.as_ptr()) });
        LIVING.set(LIVING.get().checked_sub(1).expect("nothing is given back twice"));
    }
}

impl Incoming for Arrived {
    fn bytes(&self) -> &[u8] {
        // SAFETY: the bytes live until the drop and are never written.
        unsafe { self.bytes.as_ref() }
    }

    fn into_payload(self, from: usize) -> Payload {
        let (bytes, this) = (self.bytes, Box::into_raw(Box::new(self)));
        unsafe fn release([arrived, _]: [*const (); 2]) {
            // SAFETY: the box was leaked below; a payload calls this once.
            drop(unsafe { Box::from_raw(arrived.cast::<Arrived>().cast_mut()) });
        }
        // SAFETY: the bytes live until `release`, and only the payload has the pointer.
        let mut payload = unsafe {
            Payload::foreign(bytes, [this.cast_const().cast(), std::ptr::null()], release)
        };
        payload.advance(from);
        payload
    }
}
