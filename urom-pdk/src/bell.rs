//! What ends the sleep of a worker when a waker is called on another thread: an eventfd.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// A descriptor that becomes readable when somebody rings. It exists from the first sleep on.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    descriptor: OnceLock<Option<OwnedFd>>,
    rang: AtomicBool,
}

impl Bell {
    /// Ends the sleep.
    #[cold]
    pub(crate) fn ring(&self) {
        let Some(Some(descriptor)) = self.descriptor.get() else { return };
        let one = 1_u64.to_ne_bytes();
        // SAFETY: an open descriptor, and eight bytes. It fails only where it is readable already.
        unsafe { libc::write(descriptor.as_raw_fd(), one.as_ptr().cast(), one.len()) };
        // Behind the write: whoever sees it also finds something to read.
        self.rang.store(true, Ordering::Release);
    }

    /// The descriptor; `None` where the system has none left.
    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        let open = || {
            // SAFETY: it takes numbers only.
            let descriptor = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
            // SAFETY: a new descriptor, which nobody else owns.
            (descriptor >= 0).then(|| unsafe { OwnedFd::from_raw_fd(descriptor) })
        };
        self.descriptor.get_or_init(open).as_ref().map(AsFd::as_fd)
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
