//! The eventfd that wakers on other threads use to end the worker's sleep.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

use urom_os::EventFd;

/// Readable when it rings. The default is without a descriptor.
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
        // After the write: a thread that sees the flag also finds the descriptor readable.
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
