//! Tasks of `doca_sync_event` and `doca_mmap_advise`, device capabilities, and remote events. C has
//! a name per task kind; here the table's types select the kind of a shared function.

use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host::{self, Data, Dev, DevInfo, SyncEvent, Task, TaskCallback};
use urom_log::{guard, guard_or};

use crate::handle::{ObjectTag, as_c, borrow, destroy, present, publish, put};
use crate::pe::ctx::Context;
use crate::pe::ctx::sync_event::{EventRole, PUBLISHES, RemoteNet};
use crate::pe::local::LocalTask;
use crate::pe::tasks::OfKind;
use crate::table::sync_event::import;

pub(super) use self::{
    alloc_wait as doca_sync_event_task_wait_eq_alloc_init,
    alloc_wait as doca_sync_event_task_wait_neq_alloc_init,
    as_task as doca_mmap_advise_task_invalidate_cache_as_doca_task,
    as_task as doca_sync_event_task_get_as_doca_task,
    as_task as doca_sync_event_task_notify_set_as_doca_task,
    as_task as doca_sync_event_task_notify_add_as_doca_task,
    as_task as doca_sync_event_task_wait_eq_as_doca_task,
    as_task as doca_sync_event_task_wait_neq_as_doca_task,
    get_mask as doca_sync_event_task_wait_eq_get_mask,
    get_mask as doca_sync_event_task_wait_neq_get_mask,
    get_target as doca_sync_event_task_get_get_ret_val_ptr,
    get_target as doca_sync_event_task_notify_add_get_fetched_val_ptr,
    get_target as doca_mmap_advise_task_invalidate_cache_get_buf,
    get_value as doca_sync_event_task_notify_set_get_set_val,
    get_value as doca_sync_event_task_notify_add_get_inc_val,
    get_value as doca_sync_event_task_wait_eq_get_wait_val,
    get_value as doca_sync_event_task_wait_neq_get_wait_val,
    // Capabilities of all devices.
    is_supported as doca_mmap_advise_cap_task_cache_invalidate_is_supported,
    is_supported as doca_sync_event_cap_is_create_from_export_supported,
    is_supported as doca_sync_event_cap_remote_net_is_create_from_export_supported,
    is_supported as doca_sync_event_cap_is_export_to_remote_pci_supported,
    is_supported as doca_sync_event_cap_is_export_to_remote_net_supported,
    is_supported as doca_sync_event_cap_task_get_is_supported,
    is_supported as doca_sync_event_cap_task_notify_set_is_supported,
    is_supported as doca_sync_event_cap_task_notify_add_is_supported,
    is_supported as doca_sync_event_cap_task_wait_eq_is_supported,
    is_supported as doca_sync_event_cap_task_wait_neq_is_supported,
    // All kinds of tasks.
    set_conf as doca_mmap_advise_task_invalidate_cache_set_conf,
    set_conf as doca_sync_event_task_get_set_conf,
    set_conf as doca_sync_event_task_notify_set_set_conf,
    set_conf as doca_sync_event_task_notify_add_set_conf,
    set_conf as doca_sync_event_task_wait_eq_set_conf,
    set_conf as doca_sync_event_task_wait_neq_set_conf,
    set_mask as doca_sync_event_task_wait_eq_set_mask,
    set_mask as doca_sync_event_task_wait_neq_set_mask,
    set_target as doca_sync_event_task_get_set_ret_val_ptr,
    set_target as doca_sync_event_task_notify_add_set_fetched_val_ptr,
    set_target as doca_mmap_advise_task_invalidate_cache_set_buf,
    set_value as doca_sync_event_task_notify_set_set_set_val,
    set_value as doca_sync_event_task_notify_add_set_inc_val,
    set_value as doca_sync_event_task_wait_eq_set_wait_val,
    set_value as doca_sync_event_task_wait_neq_set_wait_val,
};

functions! {
    fn is_supported[_info: *const DevInfo]() { Ok(()) }

    fn set_conf<O, T: OfKind>[](
        owner: *mut O,
        completed: Option<TaskCallback<T>>,
        failed: Option<TaskCallback<T>>,
        count: u32,
    ) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let ctx: &Context = unsafe { borrow(owner) }?;
        let tasks = ctx.tasks(T::KIND)?;
        ctx.configure(|| tasks.configure(completed, failed, count))
    }

    fn as_task<T: OfKind>[task: *mut T]() -> *mut Task { as_c(task) }

    fn set_value<T: OfKind>[task: *mut T](value: u64) -> () { task.value.set(value); }

    fn get_value<T: OfKind>[task: *const T]() -> u64 { task.value.get() }

    fn set_mask<T: OfKind>[task: *mut T](mask: u64) -> () { task.mask.set(mask); }

    fn get_mask<T: OfKind>[task: *const T]() -> u64 { task.mask.get() }

    fn set_target<P, T: OfKind>[task: *mut T](to: *mut P) -> () { task.target.set(to.cast()); }

    fn get_target<P, T: OfKind>[task: *const T]() -> *mut P { task.target.get().cast() }

    fn doca_sync_event_task_get_alloc_init[event: *mut SyncEvent](
        target: *mut u64, data: Data, task: *mut *mut host::SyncEventTaskGet,
    ) => task {
        let counter = event.counter(EventRole::Subscriber)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (0, 0, target.cast()))?
    }

    fn doca_sync_event_task_notify_set_alloc_init[event: *mut SyncEvent](
        value: u64, data: Data, task: *mut *mut host::SyncEventTaskNotifySet,
    ) => task {
        let counter = event.counter(EventRole::Publisher)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, 0, ptr::null_mut()))?
    }

    fn doca_sync_event_task_notify_add_alloc_init[event: *mut SyncEvent](
        value: u64, fetched: *mut u64, data: Data, task: *mut *mut host::SyncEventTaskNotifyAdd,
    ) => task {
        let counter = event.counter(EventRole::Publisher)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, 0, fetched.cast()))?
    }

    fn alloc_wait<T: OfKind>[event: *mut SyncEvent](
        value: u64, mask: u64, data: Data, task: *mut *mut T,
    ) => task {
        let counter = event.counter(EventRole::Subscriber)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, mask, ptr::null_mut()))?
    }

    fn doca_sync_event_remote_net_create_from_export[](
        dev: *mut Dev, bytes: *const u8, len: usize, event: *mut *mut host::SyncEventRemoteNet,
    ) => event {
        // SAFETY: the caller's bytes.
        let (device, counter, roles) = unsafe { import(dev, bytes, len) }?;
        if roles & PUBLISHES == 0 {
            log!(warn, "doca_sync_event_remote_net: the event's publisher is its own process");
            return Err(DocaError::NOT_PERMITTED);
        }
        publish(Rc::new(RemoteNet {
            tag: ObjectTag::of::<RemoteNet>(),
            _counter: counter,
            _device: device,
        }))
    }

    fn doca_sync_event_remote_net_destroy[](event: *mut host::SyncEventRemoteNet) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { destroy(event, |_: &RemoteNet| Ok(())) }.map(drop)
    }
}
