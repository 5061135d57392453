//! What ends the sleep of a worker when a waker is called on another thread: an eventfd.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use urom_os::EventFd;

/// A descriptor that becomes readable when somebody rings. The default has none.
#[derive(Debug, Default)]
pub(crate) struct Bell {
    descriptor: Option<EventFd>,
    rang: AtomicBool,
}

impl Bell {
    pub(crate) fn open() -> Bell {
        Bell { descriptor: EventFd::new().ok(), rang: AtomicBool::new(false) }
    }

    #[cold]
    pub(crate) fn ring(&self) {
        let Some(descriptor) = &self.descriptor else { return };
        descriptor.raise();
        // After the write: a thread that sees the flag also finds something to read.
        self.rang.store(true, Ordering::Release);
    }

    pub(crate) fn descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.descriptor.as_ref().map(AsFd::as_fd)
    }

    pub(crate) fn quiet(&self) {
        if self.rang.swap(false, Ordering::Acquire)
            && let Some(descriptor) = &self.descriptor
        {
            descriptor.lower();
        }
    }
}
