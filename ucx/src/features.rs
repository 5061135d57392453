//! Which of UCX's features a context has.

use ucx_sys as sys;

bitflags::bitflags! {
    /// What a context will be used for: `enum ucp_feature`. Combine with `|`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Features: u64 {
        /// Active messages.
        const AM = sys::UCP_FEATURE_AM as u64;
        /// Tag matching.
        const TAG = sys::UCP_FEATURE_TAG as u64;
        /// Put and get on remote memory. Without a device that does it, the peer's processor does,
        /// and a peer with the address of any of this process's memory can then read and write it:
        /// use it only between programs that trust each other. Together with
        /// [`Features::EXPORTED_MEMH`] and without an RDMA device no endpoint can be made.
        const RMA = sys::UCP_FEATURE_RMA as u64;
        /// Atomic operations on 64-bit words of remote memory. What is said of [`Features::RMA`]
        /// and trust holds here too.
        const AMO64 = sys::UCP_FEATURE_AMO64 as u64;
        /// Event descriptors and [`Worker::arm`](crate::Worker::arm).
        const WAKEUP = sys::UCP_FEATURE_WAKEUP as u64;
        /// Memory handles that another process can import: see
        /// [`Memory::export`](crate::Memory::export).
        const EXPORTED_MEMH = sys::UCP_FEATURE_EXPORTED_MEMH as u64;
    }
}

/// Whether the kernel lists an RDMA device.
pub(crate) fn has_rdma_device() -> bool {
    let devices = std::fs::read_dir("/sys/class/infiniband");
    devices.is_ok_and(|mut devices| devices.next().is_some())
}
