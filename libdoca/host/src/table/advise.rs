//! `doca_mmap_advise_*`.

use std::cell::RefCell;

use urom_abi::DocaError;
use urom_abi::host::{self, Buf, Ctx, Data, Dev, DevInfo, Task, TaskCallback};
use urom_log::{guard, guard_or};

use crate::buf::{AnyBuf, any_buf};
use crate::device::{Device, DeviceInfo};
use crate::handle::{as_c, borrow, present, put};
use crate::pe::ctx::advise::MmapAdvise;
use crate::pe::ctx::{Context, Part};
use crate::pe::local::{LocalTask, Tasks, local};
use crate::table::own::mmap_advise;

type AdvisePointer = *mut host::MmapAdvise;
type Invalidate = host::MmapAdviseTaskInvalidateCache;

functions! {
    fn doca_mmap_advise_create[](dev: *mut Dev, advise: *mut AdvisePointer) => advise {
        let device = RefCell::new(Some(Device::find(dev.cast_const().cast())?));
        Context::publish(Part::MmapAdvise(MmapAdvise { device, tasks: Tasks::default() }))
    }

    fn doca_mmap_advise_destroy[advise = mmap_advise: AdvisePointer]() {
        advise.destroy(DocaError::BAD_STATE)
    }

    fn doca_mmap_advise_as_ctx[advise = mmap_advise: AdvisePointer]() -> *mut Ctx { advise.ctx.as_ctx() }

    fn doca_mmap_advise_cap_task_cache_invalidate_is_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() {
        Ok(())
    }

    fn doca_mmap_advise_task_cache_invalidate_get_max_buf_size[_info = borrow::<DeviceInfo, _>: *const DevInfo](
        size: *mut u64,
    ) => size { u64::MAX }

    set fn doca_mmap_advise_task_invalidate_cache_set_conf[advise = mmap_advise: AdvisePointer](
        completed: Option<TaskCallback<Invalidate>>,
        failed: Option<TaskCallback<Invalidate>>,
        count: u32,
    ) { advise.tasks.configure(completed, failed, count) }

    fn doca_mmap_advise_task_invalidate_cache_alloc_init[advise = mmap_advise: AdvisePointer](
        buf: *mut Buf,
        data: Data,
        task: *mut *mut Invalidate,
    ) => task {
        advise.ctx.require_running()?;
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        if let AnyBuf::OfTask(_) = unsafe { any_buf(buf) }? {
            return Err(DocaError::NOT_PERMITTED);
        }
        LocalTask::allocate(advise.ctx, None, data, (0, 0, buf.cast()))?
    }

    fn doca_mmap_advise_task_invalidate_cache_as_doca_task[task = local: *mut Invalidate]() -> *mut Task {
        as_c(task)
    }

    fn doca_mmap_advise_task_invalidate_cache_set_buf[task = local: *mut Invalidate](buf: *mut Buf) -> () {
        task.place.set(buf.cast());
    }

    fn doca_mmap_advise_task_invalidate_cache_get_buf[task = local: *const Invalidate]() -> *mut Buf {
        task.place.get().cast()
    }
}
