//! `doca_urom_worker_*`.

use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{self, Buf, CmdTaskCallback, CmdTaskEnd, Ctx, Task, WorkerHealth};
use urom_log::{guard, guard_or};
use urom_wire::control::{Failure, Stuck};

use crate::buf::Buffer;
use crate::failure::failure;
use crate::handle::{command, live_worker, present, publish, put, service, withdraw, worker};
use crate::pe::ctx::worker::Worker;
use crate::pe::ctx::{Context, Kind};

/// More strings than this are a mistake, not an environment.
const MOST_ENV: usize = 65_536;

functions! {
    fn create(out: *mut *mut host::Worker) [] => out {
        publish(Context::new(Kind::Worker(Worker::new())))
    }

    fn destroy(pointer: *mut host::Worker) [(ctx, _) = worker, pointer] {
        ctx.require_idle().map_err(|_| DocaError::IN_USE)?;
        // SAFETY: the caller's object.
        unsafe { withdraw::<Context, _>(pointer) }.map(drop)
    }
}

settings! {
    fn set_service(pointer: *mut host::Worker, service_pointer: *mut host::Service)
        [own = worker] {
        // SAFETY: the caller's object; another thread may use it, but not end it, and only what is
        // shared is touched.
        let service = unsafe { service(service_pointer) };
        let (_, service) =
            service.map_err(|code| failure!(code = code, "the worker's service is NULL or no \
                                                          service"))?;
        own.set_service(service.shared().clone());
        Ok(())
    }

    fn set_id(pointer: *mut host::Worker, id: u64) [own = worker] {
        own.set_id(id);
        Ok(())
    }

    fn set_plugins(pointer: *mut host::Worker, mask: u64) [own = worker] {
        own.set_plugins(mask)
    }

    fn set_cpuset(pointer: *mut host::Worker, cpus: CpuSet) [own = worker] {
        own.set_cpus(cpus)
    }

    fn set_gid(pointer: *mut host::Worker, gid: u32) [own = worker] {
        own.set_gid(gid);
        Ok(())
    }

    fn set_max_inflight_tasks(pointer: *mut host::Worker, count: u32) [own = worker] {
        own.set_max_inflight(count)
    }

    fn set_env(pointer: *mut host::Worker, env: *const *mut c_char, count: usize) [own = worker] {
        if env.is_null() || count > MOST_ENV {
            return Err(failure!(INVALID_VALUE, "a worker's environment of {count} strings cannot \
                                                be, or is NULL: {MOST_ENV} are possible"));
        }
        let entry = |at: usize| {
            let entry = env.wrapping_add(at);
            // SAFETY: the caller gives `count` pointers.
            let entry = unsafe { *entry };
            present(entry).map_err(|code| {
                failure!(code = code, "string {at} of a worker's environment is NULL")
            })?;
            // SAFETY: each is a C string.
            let entry = unsafe { CStr::from_ptr(entry) };
            entry.to_str().map(str::to_owned).map_err(|_| failure!(INVALID_VALUE, "{entry:?} in a \
                                                                                   worker's \
                                                                                   environment is \
                                                                                   not UTF-8"))
        };
        own.set_env((0..count).map(entry).collect::<Result<_, Failure>>()?)
    }
}

functions! {
    fn get_id(pointer: *mut host::Worker, id: *mut u64) [(ctx, own) = worker, pointer] => id {
        own.id(ctx)?
    }

    fn get_gid(pointer: *mut host::Worker, gid: *mut u32) [(_, own) = worker, pointer] => gid {
        own.gid()
    }

    fn get_health(pointer: *mut host::Worker, health: *mut WorkerHealth)
        [(ctx, own) = worker, pointer] => health {
        let stuck = own.run(ctx)?.health().stuck();
        stuck.map_or_else(WorkerHealth::well, |Stuck { plugin, method, seconds }| {
            WorkerHealth::stuck(&plugin, method.name(), seconds.into())
        })
    }
}

answers! {
    fn as_ctx(pointer: *mut host::Worker)
        -> *mut Ctx, otherwise ptr::null_mut(); [(ctx, _) = worker, pointer] {
        ctx.as_ctx()
    }
}

pub(super) unsafe extern "C" fn cmd_allocate(
    pointer: *mut host::Worker,
    task: *mut *mut host::CmdTask,
) -> DocaError {
    // SAFETY: the caller's promises are the same.
    guard(|| unsafe { allocate(pointer, None, task) })
}

pub(super) unsafe extern "C" fn cmd_allocate_init(
    pointer: *mut host::Worker,
    plugin: u64,
    task: *mut *mut host::CmdTask,
) -> DocaError {
    // SAFETY: the caller's promises are the same.
    guard(|| unsafe { allocate(pointer, Some(plugin), task) })
}

/// # Safety
///
/// `pointer` is the caller's object, `task` null or a place that can be written to.
#[inline]
unsafe fn allocate(
    pointer: *mut host::Worker,
    plugin: Option<u64>,
    task: *mut *mut host::CmdTask,
) -> Result<(), DocaError> {
    // SAFETY: the caller's promise.
    let (ctx, own) = unsafe { live_worker(pointer) }?;
    present(task)?;
    let run = own.run(ctx)?;
    let plugin = match plugin {
        Some(id) => Some(run.plugin(id).ok_or(DocaError::INVALID_VALUE)?),
        None => None,
    };
    let new = run.allocate(plugin)?;
    // SAFETY: the caller's promise.
    unsafe { put(task, ptr::from_ref(new).cast_mut().cast()) }
}

functions! {
    fn cmd_release(pointer: *mut host::CmdTask) [task = command, pointer] {
        task.head.is_callers()?;
        task.run().ok_or(DocaError::INVALID_VALUE)?.release(task);
        Ok(())
    }
}

answers! {
    fn cmd_set_plugin(pointer: *mut host::CmdTask, plugin: u64)
        -> (), otherwise (); [task = command, pointer] {
        task.set_plugin(plugin);
    }

    fn cmd_set_cb(pointer: *mut host::CmdTask, callback: Option<CmdTaskCallback>)
        -> (), otherwise (); [task = command, pointer] {
        task.callback.set(callback);
    }
}

/// As a host knows it.
fn as_buf(buffer: &Buffer) -> *mut Buf {
    ptr::from_ref(buffer).cast_mut().cast()
}

answers! {
    fn cmd_get_payload(pointer: *mut host::CmdTask)
        -> *mut Buf, otherwise ptr::null_mut(); [task = command, pointer] {
        // Not while UCX reads it: from the submit on, and for good if the connection ended in the
        // middle of that.
        let task = Some(task).filter(|task| !task.sending.get());
        task.map_or(ptr::null_mut(), |task| as_buf(&task.payload))
    }

    fn cmd_get_response(pointer: *mut host::CmdTask)
        -> *mut Buf, otherwise ptr::null_mut(); [task = command, pointer] {
        let done = Some(task).filter(|task| task.has_response());
        done.map_or(ptr::null_mut(), |task| as_buf(&task.response))
    }

    fn cmd_get_user_data(pointer: *mut host::CmdTask)
        -> *mut c_void, otherwise ptr::null_mut(); [task = command, pointer] {
        task.user_area().cast()
    }

    fn cmd_as_task(pointer: *mut host::CmdTask)
        -> *mut Task, otherwise ptr::null_mut(); [_ = command, pointer] {
        pointer.cast()
    }

    fn cmd_get_end(pointer: *mut host::CmdTask)
        -> *const CmdTaskEnd, otherwise ptr::null(); [task = command, pointer] {
        task.end()
    }
}
