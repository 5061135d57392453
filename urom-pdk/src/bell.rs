//! What ends the sleep of a worker when a waker is called on another thread: an eventfd.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// A descriptor that becomes readable when somebody rings. The default has none.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    descriptor: Option<OwnedFd>,
    rang: AtomicBool,
}

impl Bell {
    /// One with a descriptor, unless the system has none left.
    pub(crate) fn open() -> Bell {
        // SAFETY: it takes numbers only.
        let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        // SAFETY: a new descriptor, which nobody else owns.
        let descriptor = (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) });
        Bell { descriptor, rang: AtomicBool::new(false) }
    }

    /// Ends the sleep.
    #[cold]
    pub(crate) fn ring(&self) {
        let Some(descriptor) = &self.descriptor else { return };
        let one = 1_u64.to_ne_bytes();
        // SAFETY: an open descriptor, and eight bytes. It fails only where it is readable already.
        unsafe { libc::write(descriptor.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        // Behind the write: whoever sees it also finds something to read.
        self.rang.store(true, Ordering::Release);
    }

    /// The descriptor, if there is one.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    /// Makes the descriptor unreadable again, if somebody rang.
    pub(crate) fn quiet(&self) {
        if !self.rang.swap(false, Ordering::Acquire) {
            return;
        }
        if let Some(descriptor) = self.descriptor() {
            let mut count = [0; 8];
            // SAFETY: an open descriptor that does not block, and room for eight bytes.
            unsafe { libc::read(descriptor.as_raw_fd(), count.as_mut_ptr().cast(), count.len()) };
        }
    }
}
