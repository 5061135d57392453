//! `doca_mmap_advise_*`.

use urom_abi::DocaError;
use urom_abi::host::{self, Buf, Ctx, Data, Dev, DevInfo};
use urom_log::{guard, guard_or};

use crate::buf::AnyBuf;
use crate::device::Device;
use crate::handle::{Opaque, present, put};
use crate::pe::ctx::Context;
use crate::pe::ctx::advise::MmapAdvise;
use crate::pe::local::LocalTask;

functions! {
    fn doca_mmap_advise_create[](dev: *mut Dev, advise: *mut *mut host::MmapAdvise) => advise {
        Context::publish(MmapAdvise::new(Device::find(dev)?))
    }

    fn doca_mmap_advise_destroy[advise: *mut host::MmapAdvise]() {
        advise.destroy(DocaError::BAD_STATE)
    }

    fn doca_mmap_advise_as_ctx[advise: *mut host::MmapAdvise]() -> *mut Ctx { advise.ctx.as_ctx() }

    fn doca_mmap_advise_task_cache_invalidate_get_max_buf_size[_info: *const DevInfo](
        size: *mut u64,
    ) => size {
        u64::MAX
    }

    fn doca_mmap_advise_task_invalidate_cache_alloc_init[advise: *mut host::MmapAdvise](
        buf: *mut Buf, data: Data, task: *mut *mut host::MmapAdviseTaskInvalidateCache,
    ) => task {
        advise.ctx.require_running()?;
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        if let AnyBuf::OfTask(_) = unsafe { Buf::find(buf) }? {
            return Err(DocaError::NOT_PERMITTED);
        }
        LocalTask::allocate(advise.ctx, None, data, (0, 0, buf.cast()))?
    }
}
