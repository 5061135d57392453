//! The owner of a payload's memory, which releases it.

use std::rc::Rc;

use crate::descriptor::NotificationDesc;

#[derive(Default)]
pub(super) enum Storage {
    #[default]
    Nothing,
    Descriptor(NotificationDesc),
    Foreign(#[expect(dead_code, reason = "dropping it is its use")] Foreign),
    /// One of the above, shared by several payloads.
    Shared(Rc<Storage>),
}

impl Storage {
    pub(super) fn share(&mut self) -> Storage {
        let shared = match std::mem::take(self) {
            Storage::Shared(shared) => shared,
            alone => Rc::new(alone),
        };
        *self = Storage::Shared(Rc::clone(&shared));
        Storage::Shared(shared)
    }
}

pub(super) struct Foreign {
    pub(super) release: unsafe fn([*const (); 2]),
    pub(super) words: [*const (); 2],
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: `Payload::foreign` requires that one call with these words is sound.
        unsafe { (self.release)(self.words) };
    }
}
