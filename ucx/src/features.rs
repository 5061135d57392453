//! The UCX features of a context.

use ucx_sys as sys;

bitflags::bitflags! {
    /// The features that a context will use: `enum ucp_feature`. Combine with `|`.
    #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
    pub struct Features: u64 {
        /// Active messages.
        const AM = sys::UCP_FEATURE_AM as u64;
        /// Tag matching.
        const TAG = sys::UCP_FEATURE_TAG as u64;
        /// Put and get on remote memory. Without a device for it, the peer's processor executes
        /// them: a peer with an address of any memory of this process can then read and write it.
        /// Use it only between programs that trust each other. With [`Features::EXPORTED_MEMH`],
        /// endpoints need an RDMA device.
        const RMA = sys::UCP_FEATURE_RMA as u64;
        /// Atomic operations on 64-bit words of remote memory; trust as for [`Features::RMA`].
        const AMO64 = sys::UCP_FEATURE_AMO64 as u64;
        /// Event descriptors and [`Worker::arm`](crate::Worker::arm).
        const WAKEUP = sys::UCP_FEATURE_WAKEUP as u64;
        /// Memory handles for another process: see [`Memory::export`](crate::Memory::export).
        const EXPORTED_MEMH = sys::UCP_FEATURE_EXPORTED_MEMH as u64;
    }
}

pub(crate) fn has_rdma_device() -> bool {
    let devices = std::fs::read_dir("/sys/class/infiniband");
    devices.is_ok_and(|mut devices| devices.next().is_some())
}
