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
use urom_wire::control::Failure;

use crate::address::{Address, Wish};
use crate::device::Device;
use crate::failure::failure;
use crate::handle::{borrow, present, publish, put, service, withdraw};
use crate::pe::ctx::service::Service;
use crate::pe::ctx::service::gid::GidTask;
use crate::pe::ctx::{Context, Kind};

functions! {
    fn create(out: *mut *mut host::Service) [] => out {
        publish(Context::new(Kind::Service(Service::new())))
    }

    fn destroy(pointer: *mut host::Service) [(ctx, own) = service, pointer] {
        ctx.require_idle().map_err(|_| DocaError::NOT_PERMITTED)?;
        if own.shared().is_attached() {
            return Err(DocaError::IN_USE);
        }
        // SAFETY: the caller's object.
        unsafe { withdraw::<Context, _>(pointer) }.map(drop)
    }
}

settings! {
    fn set_max_comm_msg_size(pointer: *mut host::Service, size: usize) [own = service] {
        own.set_max_message(size)
    }

    fn set_max_workers(pointer: *mut host::Service, count: u32) [own = service] {
        own.set_max_workers(count)
    }

    fn set_dev(pointer: *mut host::Service, dev: *mut Dev) [own = service] {
        let device = Device::find(dev.cast_const().cast());
        own.set_device(
            device.map_err(|code| failure!(code = code, "the service's device is NULL or not \
                                                         open"))?,
        );
        Ok(())
    }
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

settings! {
    fn set_address(pointer: *mut host::Service, address: *const c_char, origin: *const c_char)
        [own = service] {
        // SAFETY: the caller's string.
        let address = unsafe { text(address) };
        // SAFETY: the caller's string.
        let origin = unsafe { text(origin) };
        let address =
            address.ok_or_else(|| failure!(INVALID_VALUE, "the service's address is \
                                                           NULL"))?.to_string_lossy();
        let origin = origin.map(CStr::to_string_lossy);
        let address = Address::parse(&address, origin.as_deref()).ok_or_else(|| {
            failure!(INVALID_VALUE, "`{address}` is no address of a service: write HOST:PORT, \
                                     [IPV6]:PORT or HOST")
        })?;
        own.set_wish(Wish::Address(address));
        Ok(())
    }

    fn set_embedded(pointer: *mut host::Service, plugin_path: *const c_char) [own = service] {
        // SAFETY: the caller's string.
        let path = unsafe { text(plugin_path) };
        own.set_wish(Wish::Embedded(
            path.map(|path| OsStr::from_bytes(path.to_bytes()).to_owned()),
        ));
        Ok(())
    }

    fn set_key_file(pointer: *mut host::Service, path: *const c_char) [own = service] {
        // SAFETY: the caller's string.
        let path = unsafe { text(path) };
        let path = path.ok_or_else(|| failure!(INVALID_VALUE, "the service's key file is NULL"))?;
        if path.is_empty() {
            return Err(failure!(INVALID_VALUE, "the service's key file has no name"));
        }
        own.set_key_file(OsStr::from_bytes(path.to_bytes()).into());
        Ok(())
    }

    fn set_any_device(pointer: *mut host::Service) [own = service] {
        own.set_any_device();
        Ok(())
    }
}

answers! {
    fn as_ctx(pointer: *mut host::Service)
        -> *mut Ctx, otherwise ptr::null_mut(); [(ctx, _) = service, pointer] {
        ctx.as_ctx()
    }
}

functions! {
    fn get_plugins_list(
        pointer: *mut host::Service,
        plugins: *mut *const PluginInfo,
        count: *mut usize,
    ) [(ctx, own) = service, pointer] {
        present(plugins)?;
        present(count)?;
        let (first, len) = own.plugins(ctx)?;
        // SAFETY: the caller's place.
        unsafe { put(plugins, first) }?;
        // SAFETY: the caller's place.
        unsafe { put(count, len) }
    }

    fn get_plugin_fingerprint(pointer: *mut host::Service, plugin: u64, fingerprint: *mut u64)
        [(ctx, own) = service, pointer] => fingerprint {
        own.fingerprint(ctx, plugin)?.ok_or(DocaError::NOT_FOUND)?
    }

    fn get_plugin_description(
        pointer: *mut host::Service,
        plugin: u64,
        bytes: *mut c_void,
        length: *mut usize,
    ) [(ctx, own) = service, pointer] {
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
        // SAFETY: the caller's room for that many bytes, which a vector of this function is no part
        // of.
        unsafe { ptr::copy_nonoverlapping(description.as_ptr(), bytes.cast(), description.len()) };
        Ok(())
    }

    fn get_cpuset(pointer: *mut host::Service, cpus: *mut CpuSet)
        [(ctx, own) = service, pointer] => cpus {
        own.cpus(ctx)?
    }
}

pub(super) unsafe extern "C" fn query_allocate(
    pointer: *mut host::Service,
    task: *mut *mut host::GidTask,
) -> DocaError {
    // SAFETY: the caller's promises are the same.
    unsafe { query_allocate_init(pointer, 0, None, task) }
}

functions! {
    fn query_allocate_init(
        pointer: *mut host::Service,
        gid: u32,
        callback: Option<GidTaskCallback>,
        task: *mut *mut host::GidTask,
    ) [(ctx, own) = service, pointer] => task {
        let run = own.run(ctx)?;
        let query = publish(GidTask::new(&run, ctx.weak(), gid, callback));
        run.allocated();
        query
    }

    fn query_release(pointer: *mut host::GidTask) [task = borrow::<GidTask, _>, pointer] {
        task.head.is_callers()?;
        // SAFETY: the caller's object.
        let task: Rc<GidTask> = unsafe { withdraw(pointer) }?;
        if let Some(run) = task.run.upgrade() {
            run.released();
        }
        Ok(())
    }
}

answers! {
    fn query_set_gid(pointer: *mut host::GidTask, gid: u32)
        -> (), otherwise (); [task = borrow::<GidTask, _>, pointer] {
        task.gid.set(gid);
    }

    fn query_set_cb(pointer: *mut host::GidTask, callback: Option<GidTaskCallback>)
        -> (), otherwise (); [task = borrow::<GidTask, _>, pointer] {
        task.callback.set(callback);
    }

    fn query_as_task(pointer: *mut host::GidTask)
        -> *mut Task, otherwise ptr::null_mut(); [_ = borrow::<GidTask, _>, pointer] {
        pointer.cast()
    }

    fn query_get_workers_count(pointer: *mut host::GidTask)
        -> usize, otherwise 0; [task = borrow::<GidTask, _>, pointer] {
        Some(task).filter(|task| task.is_done()).map_or(0, |task| task.ids.borrow().len())
    }

    fn query_get_worker_ids(pointer: *mut host::GidTask)
        -> *const u64, otherwise ptr::null(); [task = borrow::<GidTask, _>, pointer] {
        let ids = Some(task).filter(|task| task.is_done()).map(|task| task.ids.borrow());
        // An empty list would have an address at which nothing is.
        ids.filter(|ids| !ids.is_empty()).map_or(ptr::null(), |ids| ids.as_ptr())
    }
}
