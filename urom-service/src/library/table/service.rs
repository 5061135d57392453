//! `doca_urom_service_*`.

use std::ffi::{CStr, OsStr, c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::{self, Ctx, Dev, GidTaskCallback, Task};
use urom_abi::plugin::PluginInfo;
use urom_log::{guard, guard_or};

use crate::library::address::{Address, Wish};
use crate::library::ctx::{Context, Kind};
use crate::library::device::Device;
use crate::library::failure::{failure, invalid};
use crate::library::gid::GidTask;
use crate::library::handle::{borrow, present, publish, put, service, withdraw};
use crate::library::service::Service;
use crate::wire::control::Failure;

pub(super) unsafe extern "C" fn create(out: *mut *mut host::Service) -> DocaError {
    guard(|| {
        present(out)?;
        let pointer = publish(Context::new(Kind::Service(Service::new())));
        // SAFETY: the caller's place.
        unsafe { put(out, pointer) }
    })
}

pub(super) unsafe extern "C" fn destroy(pointer: *mut host::Service) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, own) = unsafe { service(pointer) }?;
        ctx.require_idle().map_err(|_| DocaError::NOT_PERMITTED)?;
        if own.shared().is_attached() {
            return Err(DocaError::IN_USE);
        }
        // SAFETY: the caller\'s object.
        unsafe { withdraw::<Context, _>(pointer) }.map(drop)
    })
}

/// Runs `set` on an idle service, which keeps what it refused and why.
///
/// # Safety
///
/// As [`borrow`].
unsafe fn configure(
    pointer: *mut host::Service,
    set: impl FnOnce(&Service) -> Result<(), Failure>,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's promise.
        let (ctx, own) = unsafe { service(pointer) }?;
        ctx.require_idle()?;
        set(own).map_err(|failure| ctx.fail(&failure))
    })
}

pub(super) unsafe extern "C" fn set_max_comm_msg_size(
    pointer: *mut host::Service,
    size: usize,
) -> DocaError {
    // SAFETY: the caller's object.
    unsafe { configure(pointer, |own| own.set_max_message(size)) }
}

pub(super) unsafe extern "C" fn set_max_workers(
    pointer: *mut host::Service,
    count: u32,
) -> DocaError {
    // SAFETY: the caller's object.
    unsafe { configure(pointer, |own| own.set_max_workers(count)) }
}

pub(super) unsafe extern "C" fn set_dev(pointer: *mut host::Service, dev: *mut Dev) -> DocaError {
    let set = |own: &Service| {
        let device = Device::find(dev.cast_const().cast());
        own.set_device(
            device.map_err(|code| failure(code, "the service's device is NULL or not open"))?,
        );
        Ok(())
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

/// A C string of the caller's; `None` for null.
///
/// # Safety
///
/// `text` is null or a C string that stays for the call.
unsafe fn text<'a>(text: *const c_char) -> Option<&'a CStr> {
    // SAFETY: not null, and the caller promises the rest.
    (!text.is_null()).then(|| unsafe { CStr::from_ptr(text) })
}

pub(super) unsafe extern "C" fn set_address(
    pointer: *mut host::Service,
    address: *const c_char,
    origin: *const c_char,
) -> DocaError {
    // SAFETY: the caller's string.
    let address = unsafe { text(address) };
    // SAFETY: the caller's string.
    let origin = unsafe { text(origin) };
    let set = |own: &Service| {
        let address =
            address.ok_or_else(|| invalid("the service's address is NULL"))?.to_string_lossy();
        let origin = origin.map(CStr::to_string_lossy);
        let address = Address::parse(&address, origin.as_deref()).ok_or_else(|| {
            invalid(format!(
                "`{address}` is no address of a service: write HOST:PORT, [IPV6]:PORT or HOST"
            ))
        })?;
        own.set_wish(Wish::Address(address));
        Ok(())
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

pub(super) unsafe extern "C" fn set_embedded(
    pointer: *mut host::Service,
    plugin_path: *const c_char,
) -> DocaError {
    // SAFETY: the caller's string.
    let path = unsafe { text(plugin_path) };
    let set = |own: &Service| {
        own.set_wish(Wish::Embedded(
            path.map(|path| OsStr::from_bytes(path.to_bytes()).to_owned()),
        ));
        Ok(())
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

pub(super) unsafe extern "C" fn set_key_file(
    pointer: *mut host::Service,
    path: *const c_char,
) -> DocaError {
    // SAFETY: the caller's string.
    let path = unsafe { text(path) };
    let set = |own: &Service| {
        let path = path.ok_or_else(|| invalid("the service's key file is NULL"))?;
        if path.is_empty() {
            return Err(invalid("the service's key file has no name"));
        }
        own.set_key_file(OsStr::from_bytes(path.to_bytes()).into());
        Ok(())
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

pub(super) unsafe extern "C" fn set_any_device(pointer: *mut host::Service) -> DocaError {
    let set = |own: &Service| {
        own.set_any_device();
        Ok(())
    };
    // SAFETY: the caller's object.
    unsafe { configure(pointer, set) }
}

pub(super) unsafe extern "C" fn as_ctx(pointer: *mut host::Service) -> *mut Ctx {
    guard_or(std::ptr::null_mut(), || {
        // SAFETY: the caller's object.
        unsafe { service(pointer) }.map_or(std::ptr::null_mut(), |(ctx, _)| ctx.as_ctx())
    })
}

pub(super) unsafe extern "C" fn get_plugins_list(
    pointer: *mut host::Service,
    plugins: *mut *const PluginInfo,
    count: *mut usize,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, own) = unsafe { service(pointer) }?;
        present(plugins)?;
        present(count)?;
        let (first, len) = own.plugins(ctx)?;
        // SAFETY: the caller's place.
        unsafe { put(plugins, first) }?;
        // SAFETY: the caller's place.
        unsafe { put(count, len) }
    })
}

pub(super) unsafe extern "C" fn get_plugin_fingerprint(
    pointer: *mut host::Service,
    plugin: u64,
    fingerprint: *mut u64,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, own) = unsafe { service(pointer) }?;
        present(fingerprint)?;
        let found = own.fingerprint(ctx, plugin)?.ok_or(DocaError::NOT_FOUND)?;
        // SAFETY: the caller's place.
        unsafe { put(fingerprint, found) }
    })
}

pub(super) unsafe extern "C" fn get_plugin_description(
    pointer: *mut host::Service,
    plugin: u64,
    bytes: *mut c_void,
    length: *mut usize,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, own) = unsafe { service(pointer) }?;
        present(length)?;
        // SAFETY: the caller's place, which holds what there is room for.
        let room = unsafe { length.read_unaligned() };
        let description = own.description(ctx, plugin).map_err(|failure| ctx.fail(&failure))?;
        // SAFETY: the caller's place.
        unsafe { put(length, description.len()) }?;
        if description.len() > room {
            return Err(DocaError::TOO_BIG);
        }
        present(bytes)?;
        // SAFETY: the caller's room for that many bytes, which a vector of this function is no part of.
        unsafe { ptr::copy_nonoverlapping(description.as_ptr(), bytes.cast(), description.len()) };
        Ok(())
    })
}

pub(super) unsafe extern "C" fn get_cpuset(
    pointer: *mut host::Service,
    cpus: *mut CpuSet,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, own) = unsafe { service(pointer) }?;
        present(cpus)?;
        // SAFETY: the caller's place.
        unsafe { put(cpus, own.cpus(ctx)?) }
    })
}

pub(super) unsafe extern "C" fn query_allocate(
    pointer: *mut host::Service,
    task: *mut *mut host::GidTask,
) -> DocaError {
    // SAFETY: the caller's promises are the same.
    unsafe { query_allocate_init(pointer, 0, None, task) }
}

pub(super) unsafe extern "C" fn query_allocate_init(
    pointer: *mut host::Service,
    gid: u32,
    callback: Option<GidTaskCallback>,
    task: *mut *mut host::GidTask,
) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let (ctx, own) = unsafe { service(pointer) }?;
        present(task)?;
        let run = own.run(ctx)?;
        let query = publish(GidTask::new(&run, ctx.weak(), gid, callback));
        run.allocated();
        // SAFETY: the caller's place.
        unsafe { put(task, query) }
    })
}

pub(super) unsafe extern "C" fn query_release(pointer: *mut host::GidTask) -> DocaError {
    guard(|| {
        // SAFETY: the caller's object.
        let task: &GidTask = unsafe { borrow(pointer) }?;
        task.head.is_callers()?;
        // SAFETY: the caller's object.
        let task: Rc<GidTask> = unsafe { withdraw(pointer) }?;
        if let Some(run) = task.run.upgrade() {
            run.released();
        }
        Ok(())
    })
}

pub(super) unsafe extern "C" fn query_set_gid(pointer: *mut host::GidTask, gid: u32) {
    guard_or((), || {
        // SAFETY: the caller's object.
        if let Ok(task) = unsafe { borrow::<GidTask, _>(pointer) } {
            task.gid.set(gid);
        }
    });
}

pub(super) unsafe extern "C" fn query_set_cb(
    pointer: *mut host::GidTask,
    callback: Option<GidTaskCallback>,
) {
    guard_or((), || {
        // SAFETY: the caller's object.
        if let Ok(task) = unsafe { borrow::<GidTask, _>(pointer) } {
            task.callback.set(callback);
        }
    });
}

pub(super) unsafe extern "C" fn query_as_task(pointer: *mut host::GidTask) -> *mut Task {
    guard_or(std::ptr::null_mut(), || {
        // SAFETY: the caller's object.
        unsafe { borrow::<GidTask, _>(pointer) }.map_or(std::ptr::null_mut(), |_| pointer.cast())
    })
}

pub(super) unsafe extern "C" fn query_get_workers_count(pointer: *mut host::GidTask) -> usize {
    guard_or(0, || {
        // SAFETY: the caller's object.
        let task = unsafe { borrow::<GidTask, _>(pointer) };
        task.ok().filter(|task| task.is_done()).map_or(0, |task| task.ids.borrow().len())
    })
}

pub(super) unsafe extern "C" fn query_get_worker_ids(pointer: *mut host::GidTask) -> *const u64 {
    guard_or(std::ptr::null(), || {
        // SAFETY: the caller's object.
        let task = unsafe { borrow::<GidTask, _>(pointer) };
        let ids = task.ok().filter(|task| task.is_done()).map(|task| task.ids.borrow());
        // An empty list would have an address at which nothing is.
        ids.filter(|ids| !ids.is_empty()).map_or(std::ptr::null(), |ids| ids.as_ptr())
    })
}
