//! Whose memory a payload is, and how it is given back.

use std::rc::Rc;

use crate::descriptor::NotificationDesc;

#[derive(Default)]
pub(super) enum Owner {
    /// There are no bytes.
    #[default]
    Nothing,
    Descriptor(NotificationDesc),
    /// The heap's memory, or somebody else's.
    Foreign(#[expect(dead_code, reason = "dropping it is its use")] Foreign),
    /// One of the above, and several payloads in it.
    Shared(Rc<Owner>),
}

impl Owner {
    pub(super) fn share(&mut self) -> Owner {
        let shared = match std::mem::take(self) {
            Owner::Shared(shared) => shared,
            alone => Rc::new(alone),
        };
        *self = Owner::Shared(Rc::clone(&shared));
        Owner::Shared(shared)
    }
}

pub(super) struct Foreign {
    pub(super) release: unsafe fn([*const (); 2]),
    pub(super) words: [*const (); 2],
}

impl Drop for Foreign {
    fn drop(&mut self) {
        // SAFETY: whoever made it promised that the function may be called once with these words.
        unsafe { (self.release)(self.words) };
    }
}
