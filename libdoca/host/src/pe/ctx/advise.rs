//! `doca_mmap_advise`: a context for hints about memory.

use std::cell::RefCell;
use std::sync::Arc;

use crate::device::Device;
use crate::pe::local::Tasks;

pub(crate) struct MmapAdvise {
    /// Kept open.
    pub(crate) device: RefCell<Option<Arc<Device>>>,
    pub(crate) tasks: Tasks,
}
