//! A notification that arrived in memory of somebody else's, as a host's task is.

use std::cell::Cell;
use std::ptr::NonNull;

use urom_abi::Payload;
use urom_abi::protocol::Incoming;

thread_local! {
    static LIVING: Cell<usize> = const { Cell::new(0) };
}

/// How many arrivals of this thread were not given back yet.
pub fn living() -> usize {
    LIVING.get()
}

/// The bytes of a notification, given back once and only once.
pub struct Arrived {
    bytes: NonNull<[u8]>,
}

impl Arrived {
    /// An arrival of these bytes, in an allocation of exactly their length.
    pub fn new(bytes: &[u8]) -> Arrived {
        LIVING.set(LIVING.get() + 1);
        Arrived { bytes: NonNull::from(Box::leak(crate::exact(bytes))) }
    }
}

impl Drop for Arrived {
    fn drop(&mut self) {
        // SAFETY: the box was leaked in `new`, and whoever drops this is its only owner.
        drop(unsafe { Box::from_raw(self.bytes.as_ptr()) });
        LIVING.set(LIVING.get().checked_sub(1).expect("nothing is given back twice"));
    }
}

impl Incoming for Arrived {
    fn bytes(&self) -> &[u8] {
        // SAFETY: they live until the drop, and nobody writes them meanwhile.
        unsafe { self.bytes.as_ref() }
    }

    fn into_payload(self, from: usize) -> Payload {
        let (bytes, this) = (self.bytes, Box::into_raw(Box::new(self)));
        unsafe fn release([arrived, _]: [*const (); 2]) {
            // SAFETY: the box that was leaked below; a payload calls this once.
            drop(unsafe { Box::from_raw(arrived.cast::<Arrived>().cast_mut()) });
        }
        // SAFETY: the bytes stay until `release`, and only the payload knows them.
        let mut payload = unsafe {
            Payload::foreign(bytes, [this.cast_const().cast(), std::ptr::null()], release)
        };
        payload.advance(from);
        payload
    }
}
