//! Which of UCX's features a context has.

use std::ops::{BitOr, BitOrAssign};

use ucx_sys as sys;

/// What a context will be used for: `enum ucp_feature`. Combine with `|`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Features(pub(crate) u64);

impl Features {
    /// Active messages.
    pub const AM: Features = Features(sys::UCP_FEATURE_AM as u64);
    /// Tag matching.
    pub const TAG: Features = Features(sys::UCP_FEATURE_TAG as u64);
    /// Put and get on remote memory. Without a device that does it, the peer's processor does, and
    /// a peer with the address of any of this process's memory can then read and write it: use it
    /// only between programs that trust each other. Together with [`Features::EXPORTED_MEMH`] and
    /// without an RDMA device no endpoint can be made.
    pub const RMA: Features = Features(sys::UCP_FEATURE_RMA as u64);
    /// Atomic operations on 64-bit words of remote memory. What is said of [`Features::RMA`] and
    /// trust holds here too.
    pub const AMO64: Features = Features(sys::UCP_FEATURE_AMO64 as u64);
    /// Event descriptors and [`Worker::arm`](crate::Worker::arm).
    pub const WAKEUP: Features = Features(sys::UCP_FEATURE_WAKEUP as u64);
    /// Memory handles that another process can import: see
    /// [`Memory::export`](crate::Memory::export).
    pub const EXPORTED_MEMH: Features = Features(sys::UCP_FEATURE_EXPORTED_MEMH as u64);

    /// Whether every feature of `other` is here too.
    #[must_use]
    pub const fn contains(self, other: Features) -> bool {
        self.0 & other.0 == other.0
    }
}

impl BitOr for Features {
    type Output = Features;

    fn bitor(self, other: Features) -> Features {
        Features(self.0 | other.0)
    }
}

impl BitOrAssign for Features {
    fn bitor_assign(&mut self, other: Features) {
        self.0 |= other.0;
    }
}
