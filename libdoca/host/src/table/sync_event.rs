//! `doca_sync_event_*`.

use std::slice;
use std::sync::Arc;

use urom_abi::DocaError;
use urom_abi::host::{self, Buf, Ctx, Dev};
use urom_abi::sync_event::Condition;
use urom_log::{guard, guard_or};
use urom_memory::SyncEvent as Counter;
use urom_wire::control::Failure;

use crate::buf::AnyBuf;
use crate::device::Device;
use crate::failure::{failure, refuse_if};
use crate::handle::{Opaque, present, put};
use crate::map::logged;
use crate::pe::ctx::Context;
use crate::pe::ctx::sync_event::{EventLocation, EventRole, SyncEvent};

fn here(event: &SyncEvent, role: EventRole, dev: *mut Dev) -> Result<(), Failure> {
    let device = Device::find(dev).map_err(|code| {
        failure!(code = code, "the device of a sync event is NULL, closed or none")
    })?;
    event.add_location(role, EventLocation::Cpu, Some(device))
}

/// Imports another process's event. Returns the counter and the importer's roles.
///
/// # Safety
/// `bytes` is null or has `len` bytes.
pub(super) unsafe fn import(
    dev: *mut Dev,
    bytes: *const u8,
    len: usize,
) -> Result<(Arc<Device>, Counter, u32), DocaError> {
    present(bytes)?;
    let device = Device::find(dev)?;
    // Refuses other lengths before it reads the bytes.
    refuse_if(len != Counter::EXPORTED_LEN, DocaError::INVALID_VALUE)?;
    // SAFETY: the caller's bytes, of this length.
    let bytes = unsafe { slice::from_raw_parts(bytes, len) };
    let (counter, roles) = Counter::import_for(bytes).map_err(logged)?;
    Ok((device, counter, roles))
}

functions! {
    fn doca_sync_event_create[](event: *mut *mut host::SyncEvent) => event {
        Context::publish(SyncEvent::default())
    }

    fn doca_sync_event_create_from_export[](
        dev: *mut Dev, bytes: *const u8, len: usize, event: *mut *mut host::SyncEvent,
    ) => event {
        // SAFETY: the caller's bytes.
        let (device, counter, roles) = unsafe { import(dev, bytes, len) }?;
        Context::publish(SyncEvent::imported(counter, roles, device))
    }

    fn doca_sync_event_destroy[event: *mut host::SyncEvent]() {
        event.destroy(DocaError::BAD_STATE)
    }

    set fn doca_sync_event_add_publisher_location_cpu[event: *mut host::SyncEvent](dev: *mut Dev) {
        here(&event, EventRole::Publisher, dev)
    }

    set fn doca_sync_event_add_publisher_location_remote_pci[event: *mut host::SyncEvent]() {
        event.add_location(EventRole::Publisher, EventLocation::RemotePci, None)
    }

    set fn doca_sync_event_add_publisher_location_remote_net[event: *mut host::SyncEvent]() {
        event.add_location(EventRole::Publisher, EventLocation::RemoteNet, None)
    }

    set fn doca_sync_event_add_subscriber_location_cpu[event: *mut host::SyncEvent](dev: *mut Dev) {
        here(&event, EventRole::Subscriber, dev)
    }

    set fn doca_sync_event_add_subscriber_location_remote_pci[event: *mut host::SyncEvent]() {
        event.add_location(EventRole::Subscriber, EventLocation::RemotePci, None)
    }

    set fn doca_sync_event_set_addr[event: *mut host::SyncEvent](address: *mut u64) {
        event.set_address(address)
    }

    set fn doca_sync_event_set_doca_buf[event: *mut host::SyncEvent](buf: *mut Buf) {
        let no_buffer = |code| failure!(code = code, "a sync event's buffer is NULL or none");
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let element = match unsafe { Buf::find(buf) }.map_err(no_buffer)? {
            AnyBuf::OfMap(buf) => buf.element().map_err(no_buffer)?,
            AnyBuf::OfTask(_) => return Err(failure!(
                NOT_PERMITTED,
                "a task's buffer cannot be a sync event's: take one of an inventory or a pool"
            )),
        };
        let counter = Counter::in_element(&element);
        event.set_counter(counter.map_err(|error| {
            failure!(code = error.code(), "{}", error.text())
        })?)
    }

    fn doca_sync_event_start[event: *mut host::SyncEvent]() {
        event.ctx.handle()?.start()
    }

    fn doca_sync_event_stop[event: *mut host::SyncEvent]() {
        event.ctx.require_running()?;
        event.ctx.stop()
    }

    fn doca_sync_event_as_ctx[event: *mut host::SyncEvent]() -> *mut Ctx { event.ctx.as_ctx() }

    fn doca_sync_event_export_to_remote_pci[event: *mut host::SyncEvent](
        dev: *mut Dev, bytes: *mut *const u8, len: *mut usize,
    ) => (bytes, len) {
        Device::find(dev)?;
        event.export(EventLocation::RemotePci)?
    }

    fn doca_sync_event_export_to_remote_net[event: *mut host::SyncEvent](
        bytes: *mut *const u8, len: *mut usize,
    ) => (bytes, len) {
        event.export(EventLocation::RemoteNet)?
    }

    fn doca_sync_event_get[event: *mut host::SyncEvent](value: *mut u64) => value {
        event.counter(EventRole::Subscriber)?.get()
    }

    fn doca_sync_event_update_add[event: *mut host::SyncEvent](
        value: u64, fetched: *mut u64,
    ) => fetched {
        event.counter(EventRole::Publisher)?.fetch_add(value).map_err(logged)?
    }

    fn doca_sync_event_update_set[event: *mut host::SyncEvent](value: u64) {
        event.counter(EventRole::Publisher)?.set(value).map_err(logged)
    }
}

/// Functions that wait on the caller's thread.
macro_rules! waits {
    ($($name:ident: $condition:ident, yields = $yields:literal;)*) => {
        functions! {$(
            fn $name[event: *mut host::SyncEvent](value: u64, mask: u64) {
                event.wait(Condition::$condition(value).masked(mask), $yields)
            }
        )*}
    };
}

waits! {
    doca_sync_event_wait_gt: greater, yields = false;
    doca_sync_event_wait_gt_yield: greater, yields = true;
    doca_sync_event_wait_eq: equal, yields = false;
    doca_sync_event_wait_eq_yield: equal, yields = true;
    doca_sync_event_wait_neq: not_equal, yields = false;
    doca_sync_event_wait_neq_yield: not_equal, yields = true;
}
