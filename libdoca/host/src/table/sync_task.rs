//! The tasks of `doca_sync_event`, what a device can do with events, and the events of other hosts.

use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host::{
    self, Data, Dev, DevInfo, SyncEventTaskGet, SyncEventTaskNotifyAdd, SyncEventTaskNotifySet,
    SyncEventTaskWaitEq, SyncEventTaskWaitNeq, Task, TaskCallback,
};
use urom_log::{guard, guard_or};

use crate::device::DeviceInfo;
use crate::handle::{Tag, as_c, borrow, present, publish, put, withdraw};
use crate::pe::ctx::sync_event::{PUBLISHES, RemoteNet, Role};
use crate::pe::local::{LocalTask, local};
use crate::table::own::sync_event;
use crate::table::sync_event::import;

type SyncEventPointer = *mut host::SyncEvent;

functions! {
    fn doca_sync_event_cap_is_create_from_export_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_remote_net_is_create_from_export_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_is_export_to_remote_pci_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_is_export_to_remote_net_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_task_get_is_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_task_notify_set_is_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_task_notify_add_is_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_task_wait_eq_is_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    fn doca_sync_event_cap_task_wait_neq_is_supported[_info = borrow::<DeviceInfo, _>: *const DevInfo]() { Ok(()) }

    set fn doca_sync_event_task_get_set_conf[event = sync_event: SyncEventPointer](
        completed: Option<TaskCallback<SyncEventTaskGet>>,
        failed: Option<TaskCallback<SyncEventTaskGet>>,
        count: u32,
    ) { event.tasks.configure(completed, failed, count) }

    fn doca_sync_event_task_get_alloc_init[event = sync_event: SyncEventPointer](
        place: *mut u64,
        data: Data,
        task: *mut *mut SyncEventTaskGet,
    ) => task {
        let counter = event.counter(Role::Subscriber)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (0, 0, place.cast()))?
    }

    fn doca_sync_event_task_get_as_doca_task[task = local: *mut SyncEventTaskGet]() -> *mut Task {
        as_c(task)
    }

    fn doca_sync_event_task_get_set_ret_val_ptr[task = local: *mut SyncEventTaskGet](place: *mut u64) -> () {
        task.place.set(place.cast());
    }

    fn doca_sync_event_task_get_get_ret_val_ptr[task = local: *const SyncEventTaskGet]() -> *mut u64 {
        task.place.get().cast()
    }

    set fn doca_sync_event_task_notify_set_set_conf[event = sync_event: SyncEventPointer](
        completed: Option<TaskCallback<SyncEventTaskNotifySet>>,
        failed: Option<TaskCallback<SyncEventTaskNotifySet>>,
        count: u32,
    ) { event.tasks.configure(completed, failed, count) }

    fn doca_sync_event_task_notify_set_alloc_init[event = sync_event: SyncEventPointer](
        value: u64,
        data: Data,
        task: *mut *mut SyncEventTaskNotifySet,
    ) => task {
        let counter = event.counter(Role::Publisher)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, 0, ptr::null_mut()))?
    }

    fn doca_sync_event_task_notify_set_as_doca_task[task = local: *mut SyncEventTaskNotifySet]() -> *mut Task {
        as_c(task)
    }

    fn doca_sync_event_task_notify_set_set_set_val[task = local: *mut SyncEventTaskNotifySet](value: u64) -> () {
        task.value.set(value);
    }

    fn doca_sync_event_task_notify_set_get_set_val[task = local: *const SyncEventTaskNotifySet]() -> u64 { task.value.get() }

    set fn doca_sync_event_task_notify_add_set_conf[event = sync_event: SyncEventPointer](
        completed: Option<TaskCallback<SyncEventTaskNotifyAdd>>,
        failed: Option<TaskCallback<SyncEventTaskNotifyAdd>>,
        count: u32,
    ) { event.tasks.configure(completed, failed, count) }

    fn doca_sync_event_task_notify_add_alloc_init[event = sync_event: SyncEventPointer](
        value: u64,
        fetched: *mut u64,
        data: Data,
        task: *mut *mut SyncEventTaskNotifyAdd,
    ) => task {
        let counter = event.counter(Role::Publisher)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, 0, fetched.cast()))?
    }

    fn doca_sync_event_task_notify_add_as_doca_task[task = local: *mut SyncEventTaskNotifyAdd]() -> *mut Task {
        as_c(task)
    }

    fn doca_sync_event_task_notify_add_set_inc_val[task = local: *mut SyncEventTaskNotifyAdd](value: u64) -> () {
        task.value.set(value);
    }

    fn doca_sync_event_task_notify_add_get_inc_val[task = local: *const SyncEventTaskNotifyAdd]() -> u64 { task.value.get() }

    fn doca_sync_event_task_notify_add_set_fetched_val_ptr[task = local: *mut SyncEventTaskNotifyAdd](place: *mut u64) -> () {
        task.place.set(place.cast());
    }

    fn doca_sync_event_task_notify_add_get_fetched_val_ptr[task = local: *const SyncEventTaskNotifyAdd]() -> *mut u64 {
        task.place.get().cast()
    }

    set fn doca_sync_event_task_wait_eq_set_conf[event = sync_event: SyncEventPointer](
        completed: Option<TaskCallback<SyncEventTaskWaitEq>>,
        failed: Option<TaskCallback<SyncEventTaskWaitEq>>,
        count: u32,
    ) { event.tasks.configure(completed, failed, count) }

    fn doca_sync_event_task_wait_eq_alloc_init[event = sync_event: SyncEventPointer](
        value: u64,
        mask: u64,
        data: Data,
        task: *mut *mut SyncEventTaskWaitEq,
    ) => task {
        let counter = event.counter(Role::Subscriber)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, mask, ptr::null_mut()))?
    }

    fn doca_sync_event_task_wait_eq_as_doca_task[task = local: *mut SyncEventTaskWaitEq]() -> *mut Task {
        as_c(task)
    }

    fn doca_sync_event_task_wait_eq_set_wait_val[task = local: *mut SyncEventTaskWaitEq](value: u64) -> () {
        task.value.set(value);
    }

    fn doca_sync_event_task_wait_eq_get_wait_val[task = local: *const SyncEventTaskWaitEq]() -> u64 { task.value.get() }

    fn doca_sync_event_task_wait_eq_set_mask[task = local: *mut SyncEventTaskWaitEq](value: u64) -> () {
        task.mask.set(value);
    }

    fn doca_sync_event_task_wait_eq_get_mask[task = local: *const SyncEventTaskWaitEq]() -> u64 { task.mask.get() }

    set fn doca_sync_event_task_wait_neq_set_conf[event = sync_event: SyncEventPointer](
        completed: Option<TaskCallback<SyncEventTaskWaitNeq>>,
        failed: Option<TaskCallback<SyncEventTaskWaitNeq>>,
        count: u32,
    ) { event.tasks.configure(completed, failed, count) }

    fn doca_sync_event_task_wait_neq_alloc_init[event = sync_event: SyncEventPointer](
        value: u64,
        mask: u64,
        data: Data,
        task: *mut *mut SyncEventTaskWaitNeq,
    ) => task {
        let counter = event.counter(Role::Subscriber)?;
        LocalTask::allocate(event.ctx, Some(counter), data, (value, mask, ptr::null_mut()))?
    }

    fn doca_sync_event_task_wait_neq_as_doca_task[task = local: *mut SyncEventTaskWaitNeq]() -> *mut Task {
        as_c(task)
    }

    fn doca_sync_event_task_wait_neq_set_wait_val[task = local: *mut SyncEventTaskWaitNeq](value: u64) -> () {
        task.value.set(value);
    }

    fn doca_sync_event_task_wait_neq_get_wait_val[task = local: *const SyncEventTaskWaitNeq]() -> u64 { task.value.get() }

    fn doca_sync_event_task_wait_neq_set_mask[task = local: *mut SyncEventTaskWaitNeq](value: u64) -> () {
        task.mask.set(value);
    }

    fn doca_sync_event_task_wait_neq_get_mask[task = local: *const SyncEventTaskWaitNeq]() -> u64 { task.mask.get() }

    fn doca_sync_event_remote_net_create_from_export[](
        dev: *mut Dev,
        bytes: *const u8,
        len: usize,
        event: *mut *mut host::SyncEventRemoteNet,
    ) => event {
        // SAFETY: the caller's bytes.
        let (device, counter, roles) = unsafe { import(dev, bytes, len) }?;
        if roles & PUBLISHES == 0 {
            log!(warn, "doca_sync_event_remote_net: the event's publisher is its own process");
            return Err(DocaError::NOT_PERMITTED);
        }
        publish(Rc::new(RemoteNet {
            tag: Tag::of::<RemoteNet>(),
            _counter: counter,
            _device: device,
        }))
    }

    fn doca_sync_event_remote_net_destroy[](event: *mut host::SyncEventRemoteNet) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        unsafe { withdraw::<RemoteNet, _>(event) }.map(drop)
    }
}
