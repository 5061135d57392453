//! `doca_urom_service_*`.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::sync::Arc;

use urom_abi::cpu::CpuSet;
use urom_abi::host::{self, Ctx, Dev, GidTaskCallback, Task};
use urom_abi::plugin::PluginInfo;
use urom_abi::{DocaError, DocaStatus};
use urom_log::{guard, guard_or};
use urom_wire::frame::{MAX_MAX_MESSAGE, MIN_MAX_MESSAGE};

use crate::address::{DaemonAddress, ServiceTarget};
use crate::device::Device;
use crate::failure::{fail_if, failure, refuse_if};
use crate::handle::{as_c, destroy, present, publish, put};
use crate::pe::ctx::Context;
use crate::pe::ctx::service::Service;
use crate::pe::ctx::service::gid::GidTask;

functions! {
    fn doca_urom_service_create[](out: *mut *mut host::Service) => out {
        Context::publish(Service::new())
    }

    fn doca_urom_service_destroy[service: *mut host::Service]() {
        let is_used = Arc::strong_count(&service.shared) > 1;
        refuse_if(is_used && service.ctx.require_idle().is_ok(), DocaError::IN_USE)?;
        service.destroy(DocaError::NOT_PERMITTED)
    }

    set fn doca_urom_service_set_max_comm_msg_size[service: *mut host::Service](size: usize) {
        fail_if!(!(MIN_MAX_MESSAGE..=MAX_MAX_MESSAGE).contains(&size), INVALID_VALUE,
            "messages of at most {size} bytes cannot be: from {MIN_MAX_MESSAGE} to \
             {MAX_MAX_MESSAGE} are possible");
        service.max_message.set(size);
        Ok(())
    }

    set fn doca_urom_service_set_max_workers[service: *mut host::Service](count: u32) {
        fail_if!(!count.is_power_of_two(), INVALID_VALUE,
            "{count} workers cannot be the most: it must be a power of two");
        service.max_workers.set(Some(count));
        Ok(())
    }

    set fn doca_urom_service_set_dev[service: *mut host::Service](dev: *mut Dev) {
        let device = Device::find(dev).map_err(|code| {
            failure!(code = code, "the service's device is NULL or not open")
        })?;
        service.device.replace(Some(device));
        Ok(())
    }

    set fn urom_service_set_address[
        service: *mut host::Service, address: *const c_char, origin: *const c_char
    ]() {
        let missing = || failure!(INVALID_VALUE, "the service's address is NULL");
        let address = address.ok_or_else(missing)?.to_string_lossy();
        let origin = origin.map(CStr::to_string_lossy);
        let address = DaemonAddress::parse(&address, origin.as_deref())?;
        service.target.replace(Some(ServiceTarget::Daemon(address)));
        Ok(())
    }

    set fn urom_service_set_embedded[service: *mut host::Service, plugin_path: *const c_char]() {
        let path = plugin_path.map(|path| OsStr::from_bytes(path.to_bytes()).to_owned());
        service.target.replace(Some(ServiceTarget::Embedded(path)));
        Ok(())
    }

    set fn urom_service_set_key_file[service: *mut host::Service, path: *const c_char]() {
        let path = path.ok_or_else(|| failure!(INVALID_VALUE, "the service's key file is NULL"))?;
        fail_if!(path.is_empty(), INVALID_VALUE, "the service's key file lacks a name");
        service.key_file.replace(Some(OsStr::from_bytes(path.to_bytes()).into()));
        Ok(())
    }

    set fn urom_service_set_any_device[service: *mut host::Service]() {
        service.any_device.set(true);
        Ok(())
    }

    fn doca_urom_service_as_ctx[service: *mut host::Service]() -> *mut Ctx { service.ctx.as_ctx() }

    fn doca_urom_service_get_plugins_list[service: *mut host::Service](
        plugins: *mut *const PluginInfo, count: *mut usize,
    ) => (plugins, count) {
        service.ctx.require_running()?;
        let list = service.plugins.borrow();
        refuse_if(list.is_empty(), DocaError::NOT_FOUND)?;
        (list.as_ptr(), list.len())
    }

    fn urom_service_get_plugin_fingerprint[service: *mut host::Service](
        plugin: u64, fingerprint: *mut u64,
    ) => fingerprint {
        let running = service.running(service.ctx)?;
        let found = running.welcome.plugins.iter().find(|entry| entry.id == plugin);
        found.ok_or(DocaError::INVALID_VALUE)?.build.fingerprint.ok_or(DocaError::NOT_FOUND)?
    }

    fn urom_service_get_plugin_description[service: *mut host::Service](
        plugin: u64, bytes: *mut c_void, length: *mut usize,
    ) {
        present(length)?;
        // SAFETY: the caller's variable, which contains the capacity.
        let capacity = unsafe { length.read_unaligned() };
        let ctx = service.ctx;
        let description = service.description(ctx, plugin).map_err(|why| ctx.fail(&why))?;
        // SAFETY: NULL, or the host's pointer for the result.
        unsafe { put(length, description.len()) }?;
        refuse_if(description.len() > capacity, DocaError::TOO_BIG)?;
        present(bytes)?;
        // SAFETY: the caller's buffer has that capacity and does not overlap this function's
        // vector.
        unsafe { ptr::copy_nonoverlapping(description.as_ptr(), bytes.cast(), description.len()) };
        Ok(())
    }

    fn doca_urom_service_get_cpuset[service: *mut host::Service](cpus: *mut CpuSet) => cpus {
        service.running(service.ctx)?.welcome.cpus
    }

    fn doca_urom_service_get_workers_by_gid_task_allocate_init[service: *mut host::Service](
        gid: u32, callback: Option<GidTaskCallback>, task: *mut *mut host::GidTask,
    ) => task {
        service.ctx.require_running()?;
        let ctx = service.ctx.handle()?;
        publish(service.queries.allocate(ctx, gid, callback))
    }

    fn doca_urom_service_get_workers_by_gid_task_release[](pointer: *mut host::GidTask) {
        // SAFETY: NULL, or an object that the host keeps alive in this call.
        let task = unsafe { destroy(pointer, |task: &GidTask| task.head.is_callers()) }?;
        let service = task.ctx.part::<Service>()?;
        service.queries.released();
        service.check_over(&task.ctx, &*task.ctx.pe()?);
        Ok(())
    }

    fn doca_urom_service_get_workers_by_gid_task_set_gid[task: *mut host::GidTask](gid: u32) -> () {
        task.gid.set(gid);
    }

    fn doca_urom_service_get_workers_by_gid_task_set_cb[task: *mut host::GidTask](
        callback: Option<GidTaskCallback>,
    ) -> () {
        task.callback.set(callback);
    }

    fn doca_urom_service_get_workers_by_gid_task_as_task[task: *mut host::GidTask]() -> *mut Task {
        as_c(task)
    }

    fn doca_urom_service_get_workers_by_gid_task_get_workers_count[
        task: *mut host::GidTask
    ]() -> usize {
        if task.is_done() { task.ids.borrow().len() } else { 0 }
    }

    fn doca_urom_service_get_workers_by_gid_task_get_worker_ids[
        task: *mut host::GidTask
    ]() -> *const u64 {
        let ids = task.ids.borrow();
        // The pointer of an empty list would dangle.
        if task.is_done() && !ids.is_empty() { ids.as_ptr() } else { ptr::null() }
    }
}

pub(super) unsafe extern "C" fn doca_urom_service_get_workers_by_gid_task_allocate(
    pointer: *mut host::Service,
    task: *mut *mut host::GidTask,
) -> DocaStatus {
    // SAFETY: the function has the same contract as this one.
    unsafe { doca_urom_service_get_workers_by_gid_task_allocate_init(pointer, 0, None, task) }
}
