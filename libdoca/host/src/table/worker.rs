//! `doca_urom_worker_*`.

use std::ffi::{c_char, c_void};
use std::os::fd::BorrowedFd;
use std::{ptr, slice};

use rustix::io::Errno;
use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{self, Buf, Cancelled, CmdTaskCallback, CmdTaskEnd, Ctx, Task, WorkerHealth};
use urom_abi::host_memory::{MemoryCallback, OfferedMemory};
use urom_log::{guard, guard_or};
use urom_wire::control::{Failure, HungCall, MAX_VARIABLES};
use urom_wire::frame::MAX_SLOTS;

use crate::failure::{fail_if, failure, refuse_if};
use crate::handle::{Opaque, as_c, present, put, put_text_of};
use crate::pe::ctx::Context;
use crate::pe::ctx::worker::{Worker, check_cpus};
use crate::pe::run::task::CmdTaskRef;
use crate::sharing::{ShareCallback, ShareRequest};
use crate::worker_link::WorkerOrder;

pub(super) use self::doca_urom_worker_cmd_task_get_user_data as urom_worker_cmd_task_get_area;

functions! {
    fn doca_urom_worker_create[](out: *mut *mut host::Worker) => out {
        Context::publish(Worker::new())
    }

    fn doca_urom_worker_destroy[worker: *mut host::Worker]() { worker.destroy(DocaError::IN_USE) }

    set fn doca_urom_worker_set_service[worker: *mut host::Worker](of: *mut host::Service) {
        // SAFETY: the caller's object. Another thread may use but not end it, and only its shared
        // part is accessed.
        let service = unsafe { host::Service::find(of) }.map_err(|code| {
            failure!(code = code, "the worker's service is NULL or no service")
        })?;
        worker.service.replace(Some(service.shared.clone()));
        Ok(())
    }

    set fn doca_urom_worker_set_id[worker: *mut host::Worker](id: u64) {
        worker.id.set(id);
        Ok(())
    }

    set fn doca_urom_worker_set_plugins[worker: *mut host::Worker](mask: u64) {
        fail_if!(mask == 0 || mask >> urom_abi::MAX_PLUGINS != 0, INVALID_VALUE,
            "{mask:#x} are not plugins of a worker: give the ids of the service's list, joined with \
             |");
        worker.plugins.set(mask);
        Ok(())
    }

    set fn doca_urom_worker_set_cpuset[worker: *mut host::Worker](cpus: CpuSet) {
        fail_if!(cpus.is_empty(), INVALID_VALUE, "a worker needs at least one CPU");
        if let Some(running) = worker.service.borrow().as_ref().and_then(|of| of.running()) {
            check_cpus(&cpus, &running.welcome.cpus)?;
        }
        worker.cpus.set(Some(cpus));
        Ok(())
    }

    set fn doca_urom_worker_set_gid[worker: *mut host::Worker](gid: u32) {
        worker.gid.set(gid);
        Ok(())
    }

    set fn doca_urom_worker_set_max_inflight_tasks[worker: *mut host::Worker](count: u32) {
        fail_if!(count == 0 || count as usize > MAX_SLOTS, INVALID_VALUE,
            "{count} tasks in flight cannot be: from 1 to {MAX_SLOTS} are possible");
        if !count.is_power_of_two() {
            log!(warn, "{count} tasks in flight are taken here, but DOCA asks for a power of two: \
                        write {} to be safe elsewhere", count.next_power_of_two());
        }
        worker.max_inflight.set(count);
        Ok(())
    }

    set fn doca_urom_worker_set_env[worker: *mut host::Worker](
        env: *const *mut c_char, count: usize,
    ) {
        fail_if!(count == 0 || count > MAX_VARIABLES, INVALID_VALUE,
            "a worker's environment of {count} variables cannot be: from 1 to {MAX_VARIABLES} are \
             possible");
        fail_if!(env.is_null(), INVALID_VALUE,
            "a worker's environment of {count} variables is NULL");
        // SAFETY: the caller passes `count` pointers.
        let strings = unsafe { slice::from_raw_parts(env, count) };
        let entry = |(at, entry): (usize, &*mut c_char)| {
            // SAFETY: NULL, or a C string that the host keeps unchanged in this call.
            let entry = unsafe { c_char::find(*entry) }.ok().flatten().ok_or_else(|| {
                failure!(INVALID_VALUE, "string {at} of a worker's environment is NULL")
            })?;
            let entry = entry.to_str().map_err(|_| {
                failure!(INVALID_VALUE, "{entry:?} in a worker's environment is not UTF-8")
            })?;
            fail_if!(entry.find('=').is_none_or(|at| at == 0), INVALID_VALUE,
                "`{entry}` in a worker's environment is not of the form NAME=VALUE");
            Ok(entry.to_owned())
        };
        let env = strings.iter().enumerate().map(entry).collect::<Result<_, Failure>>()?;
        worker.env.replace(Some(env));
        Ok(())
    }

    fn doca_urom_worker_get_id[worker: *mut host::Worker](id: *mut u64) => id {
        worker.id(worker.ctx)?
    }

    fn doca_urom_worker_get_gid[worker: *mut host::Worker](gid: *mut u32) => gid {
        worker.gid.get()
    }

    fn urom_worker_get_health[worker: *mut host::Worker](health: *mut WorkerHealth) => health {
        let hung = worker.run(worker.ctx)?.health.hung();
        hung.map_or_else(WorkerHealth::well, |HungCall { plugin, method, seconds }| {
            WorkerHealth::hung(&plugin, method.name(), seconds.into())
        })
    }

    fn urom_worker_share_memory[worker: *mut host::Worker](
        memory: *const OfferedMemory, done: Option<MemoryCallback>, data: *mut c_void,
    ) {
        present(memory)?;
        // SAFETY: the caller's structure, which begins with its size.
        let size = unsafe { memory.cast::<usize>().read() };
        refuse_if(size < size_of::<OfferedMemory>(), DocaError::INVALID_VALUE)?;
        // SAFETY: the structure has at least this size.
        let memory = unsafe { memory.read() };
        let done = done.ok_or(DocaError::INVALID_VALUE)?;
        let run = worker.run(worker.ctx)?;
        refuse_if(memory.address.is_null() || memory.len == 0, DocaError::INVALID_VALUE)?;
        let fd = (memory.fd >= 0).then(|| {
            // SAFETY: the caller's descriptor, which remains open in this call.
            let fd = unsafe { BorrowedFd::borrow_raw(memory.fd) };
            fd.try_clone_to_owned().map(|fd| (fd, memory.fd_offset))
        });
        let callback = ShareCallback::new(done, data);
        let fd = match fd.transpose() {
            Ok(fd) => fd,
            Err(error) => {
                let advice = match Errno::from_io_error(&error) {
                    Some(Errno::MFILE) => {
                        "; raise the limit of open files (`ulimit -n`, LimitNOFILE=)"
                    }
                    _ => "",
                };
                let why = failure!(
                    OPERATING_SYSTEM,
                    "the memory's descriptor cannot be copied: {error}{advice}"
                );
                callback.complete(&Err(why));
                return Ok(());
            }
        };
        run.order(WorkerOrder::Share(ShareRequest {
            memory: memory.memory,
            address: memory.address.expose_provenance() as u64,
            len: memory.len as u64,
            access: memory.access,
            fd,
            path: memory.path,
            callback,
        }));
        Ok(())
    }

    fn urom_worker_unshare_memory[worker: *mut host::Worker](
        memory: u64, done: Option<MemoryCallback>, data: *mut c_void,
    ) {
        let done = done.ok_or(DocaError::INVALID_VALUE)?;
        worker.unshare(memory, || ShareCallback::new(done, data))
    }

    fn doca_urom_worker_as_ctx[worker: *mut host::Worker]() -> *mut Ctx { worker.ctx.as_ctx() }

    fn doca_urom_worker_cmd_task_allocate[worker: *mut host::Worker](
        task: *mut *mut host::CmdTask,
    ) => task {
        worker.run(worker.ctx)?.allocate(None)?.as_c()
    }

    fn doca_urom_worker_cmd_task_allocate_init[worker: *mut host::Worker](
        plugin: u64, task: *mut *mut host::CmdTask,
    ) => task {
        let run = worker.run(worker.ctx)?;
        run.allocate(Some(run.plugin(plugin).ok_or(DocaError::INVALID_VALUE)?))?.as_c()
    }

    fn doca_urom_worker_cmd_task_release[task: *mut host::CmdTask]() {
        task.head.is_callers()?;
        task.run().ok_or(DocaError::INVALID_VALUE)?.release(task);
        Ok(())
    }

    fn doca_urom_worker_cmd_task_set_plugin[task: *mut host::CmdTask](plugin: u64) -> () {
        task.set_plugin(plugin);
    }

    fn doca_urom_worker_cmd_task_set_cb[task: *mut host::CmdTask](
        callback: Option<CmdTaskCallback>,
    ) -> () {
        task.callback.set(callback);
    }

    fn doca_urom_worker_cmd_task_get_payload[task: *mut host::CmdTask]() -> *mut Buf {
        // NULL while UCX reads it: after submit, and permanently if the connection ended meanwhile.
        if task.sending.get() { ptr::null_mut() } else { as_c(&task.payload) }
    }

    fn doca_urom_worker_cmd_task_get_response[task: *mut host::CmdTask]() -> *mut Buf {
        if task.has_response() { as_c(&task.response) } else { ptr::null_mut() }
    }

    fn doca_urom_worker_cmd_task_get_user_data[task: *mut host::CmdTask]() -> *mut c_void {
        task.user_area.start()
    }

    fn doca_urom_worker_cmd_task_as_task[task: *mut host::CmdTask]() -> *mut Task { task.as_c() }

    fn urom_worker_cmd_task_set_deadline[task: *mut host::CmdTask](nanoseconds: u64) {
        task.head.is_callers()?;
        task.set_limit(nanoseconds);
        Ok(())
    }

    fn urom_worker_cmd_task_cancel[task: *mut host::CmdTask]() {
        task.run().ok_or(DocaError::BAD_STATE)?.cancel(task)
    }

    fn urom_worker_cmd_task_forget[task: *mut host::CmdTask]() {
        task.run().ok_or(DocaError::BAD_STATE)?.forget(task)
    }

    fn urom_worker_get_cancelled[worker: *mut host::Worker](cancelled: *mut Cancelled) => cancelled {
        worker.cancelled()
    }

    fn urom_worker_leave[worker: *mut host::Worker]() { worker.leave() }

    fn urom_worker_cmd_task_get_end[task: *mut host::CmdTask]() -> *const CmdTaskEnd {
        task.end.as_ptr()
    }
}

pub(super) unsafe extern "C" fn urom_worker_cmd_task_get_failure(
    pointer: *const host::CmdTask,
    text: *mut c_char,
    capacity: usize,
) -> usize {
    let failure = |task: CmdTaskRef| Some(task.with_failure(str::to_owned));
    // SAFETY: NULL, or an object that the host keeps alive in this call; `text` has `capacity`
    // bytes.
    guard_or(0, || unsafe { put_text_of(pointer, failure, text, capacity) })
}
