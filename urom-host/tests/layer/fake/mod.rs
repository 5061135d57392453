//! A scripted host library in memory: no service, no plugin; it answers on the next progress call.
//! A worker answers a command with the command's own bytes, like the graph plugin, unless the first
//! byte of a loopback's data selects a [`script`].

#![allow(dead_code, unreachable_pub, reason = "every test program uses a part of it")]

/// The library's functions on an object: the body gets the fake's object.
macro_rules! functions {
    ($($(#[$counted:ident])? fn $name:ident(
        $it:ident: $object:ty $(, $arg:ident: $type:ty)* $(,)?
    ) $(-> $result:ty)? $body:block)*) => {$(
        pub unsafe extern "C" fn $name($it: $object $(, $arg: $type)*) -> functions!(@ $($result)?) {
            $(super::$counted();)?
            // SAFETY: the host passes a live object, and it is not borrowed otherwise.
            let $it = unsafe { $crate::fake::Object::get($it) };
            $body
        }
    )*};
    (@) => { DocaStatus };
    (@ $result:ty) => { $result };
}

mod core;
mod domain;
mod objects;
mod task;

use std::cell::Cell;
use std::ffi::{CStr, c_char};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};

use urom_abi::DocaStatus;
use urom_abi::host::{
    Api, Buf, CmdTask, Ctx, Data, Dev, DevInfo, Domain, Extensions, GidTask, Pe, Service, Task,
    Worker,
};
use urom_host::Library;

const OK: DocaStatus = DocaStatus::SUCCESS;

pub trait Object {
    type Is;

    /// # Safety
    /// The object is live, and this is the only borrow.
    unsafe fn get<'a>(self) -> &'a mut Self::Is;
}

macro_rules! objects {
    ($($is:ty: $($pointer:ty),*;)*) => {$($(
        impl Object for $pointer {
            type Is = $is;

            unsafe fn get<'a>(self) -> &'a mut $is {
                // SAFETY: the caller's promise; all of the fake's objects have this type.
                unsafe { &mut *self.cast_mut().cast::<$is>() }
            }
        }
    )*)*};
}

objects! {
    objects::Context: *const Service, *const Ctx, *const Worker, *const Domain, *const objects::Context;
    core::Engine: *const Pe, *const core::Engine;
    task::Work: *const CmdTask, *const GidTask, *const Task, *const task::Work;
    task::Buffer: *const Buf;
}

impl<T> Object for *mut T
where
    *const T: Object,
{
    type Is = <*const T as Object>::Is;

    unsafe fn get<'a>(self) -> &'a mut Self::Is {
        // SAFETY: the caller's promise.
        unsafe { self.cast_const().get() }
    }
}

fn put<T>(target: *mut T, value: T) -> DocaStatus {
    // SAFETY: the host passes valid pointers for results.
    unsafe { target.write(value) };
    OK
}

fn array<'a, T>(pointer: *const T, count: usize) -> &'a [T] {
    // SAFETY: the host passes an array of `count` entries.
    unsafe { std::slice::from_raw_parts(pointer, count) }
}

fn string<'a>(text: *const c_char) -> &'a [u8] {
    // SAFETY: the host passes C strings.
    unsafe { CStr::from_ptr(text) }.to_bytes()
}

fn ok_if(good: bool) -> DocaStatus {
    if good { OK } else { DocaStatus::INVALID_VALUE }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

pub use domain::{ANSWERS, HABIT, TABLES, Told, habit};
pub use objects::{
    DESCRIPTION, HEALTH, LIVE, PLUGIN_COUNT, PLUGIN_VERSION, START_FAILURES, wait_for_live,
};

/// The effects of a loopback's data; the low 32 bits are a DOCA code.
pub mod script {
    pub const STATUS_WITH_REPLY: u64 = 1 << 56;
    pub const STATUS_ALONE: u64 = 2 << 56;
    /// Completes with a response of three bytes.
    pub const SHORT_REPLY: u64 = 3 << 56;
    pub const CUT_REPLY: u64 = 7 << 56;
    pub const REFUSE: u64 = 4 << 56;
    /// Stays in flight until the worker stops.
    pub const HANG: u64 = 5 << 56;
    /// The worker dies: all its tasks end with the code.
    pub const DIE: u64 = 6 << 56;
}

pub mod id {
    pub const FAILS: u64 = 1000;
    pub const HANGS: u64 = 1001;
    /// As `FAILS`, but the progress that changes the state returns 0.
    pub const FAILS_UNCOUNTED: u64 = 1002;
}

/// Groups whose queries are not answered at once.
pub mod group {
    /// Answered before the next query for [`RELEASES`], or when the service is lost.
    pub const WAITS: u32 = 6;
    /// As `WAITS`, answered with `NOT_FOUND`.
    pub const WAITS_REFUSED: u32 = 5;
    pub const RELEASES: u32 = 4;
    /// The service is lost: all queries end with `CONNECTION_RESET`.
    pub const KILLS: u32 = 10;
}

pub const CAPACITY: usize = 64;

pub const FAILURE: &str = "the fake was asked to fail";

thread_local! {
    /// This thread's calls of functions that a command may need. Other tests run concurrently.
    static CALLS: Cell<usize> = const { Cell::new(0) };
}

fn called() {
    CALLS.set(CALLS.get() + 1);
}

/// Counts the calls during `work` of functions that a command may need.
pub fn calls(work: impl FnOnce()) -> usize {
    let before = CALLS.get();
    work();
    CALLS.get() - before
}

pub fn live() -> isize {
    LIVE.load(Ordering::SeqCst)
}

/// The response's address of the last completed task.
pub fn last_response() -> usize {
    task::LAST_RESPONSE.load(Ordering::SeqCst)
}

pub fn library() -> Library {
    static TABLE: Api = API;
    // SAFETY: the fake follows DOCA's rules, or the tests would fail.
    unsafe { Library::from_table(&TABLE) }
}

/// The library without this project's extensions.
pub fn plain_library() -> Library {
    static PLAIN: Api = Api { extensions: Extensions::NONE, ..API };
    // SAFETY: as above.
    unsafe { Library::from_table(&PLAIN) }
}

/// Serializes the tests, and checks that each destroys all objects.
pub struct Clean(#[allow(dead_code, reason = "held")] MutexGuard<'static, ()>);

pub fn clean() -> Clean {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = locked(&LOCK);
    LIVE.store(0, Ordering::SeqCst);
    PLUGIN_VERSION.store(1, Ordering::SeqCst);
    *locked(&DESCRIPTION) = None;
    PLUGIN_COUNT.store(2, Ordering::SeqCst);
    HABIT.store(habit::GOOD, Ordering::SeqCst);
    locked(&TABLES).clear();
    locked(&ANSWERS).clear();
    locked(&START_FAILURES).clear();
    Clean(guard)
}

impl Drop for Clean {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            assert_eq!(LIVE.load(Ordering::SeqCst), 0, "objects of the library were left behind");
        }
    }
}

macro_rules! constant {
    ($($name:ident($($type:ty),*) = $code:ident;)*) => {$(
        unsafe extern "C" fn $name($(_: $type),*) -> DocaStatus {
            DocaStatus::$code
        }
    )*};
}

constant! {
    no_devices(*mut *mut *mut DevInfo, *mut u32) = NOT_FOUND;
    no_list(*mut *mut DevInfo) = INVALID_VALUE;
    no_name(*const DevInfo, *mut c_char, u32) = NOT_SUPPORTED;
    no_address(*const DevInfo, *mut c_char) = NOT_SUPPORTED;
    no_open(*mut DevInfo, *mut *mut Dev) = NOT_SUPPORTED;
    no_close(*mut Dev) = NOT_SUPPORTED;
    no_command(*mut Worker, *mut *mut CmdTask) = NOT_SUPPORTED;
    no_query(*mut Service, *mut *mut GidTask) = NOT_SUPPORTED;
    no_data(*const Ctx, *mut Data) = NOT_SUPPORTED;
    no_dev(*mut Service, *mut Dev) = NOT_SUPPORTED;
    set_embedded(*mut Service, *const c_char) = SUCCESS;
    set_key_file(*mut Service, *const c_char) = SUCCESS;
    set_any_device(*mut Service) = SUCCESS;
    set_service(*mut Worker, *mut Service) = SUCCESS;
}

unsafe extern "C" fn cast<T, U>(object: *mut T) -> *mut U {
    object.cast()
}

unsafe extern "C" fn ignore<T, U>(_object: *mut T, _value: U) {}

pub const API: Api = Api {
    doca_urom_service_create: objects::create::<_, true>,
    doca_urom_service_destroy: objects::destroy,
    doca_urom_service_set_max_comm_msg_size: objects::service_set_size,
    doca_urom_service_set_max_workers: objects::service_set_max_workers,
    doca_urom_service_set_dev: no_dev,
    doca_urom_service_as_ctx: cast,
    doca_urom_service_get_plugins_list: objects::service_get_plugins,
    doca_urom_service_get_cpuset: objects::service_get_cpuset,
    doca_urom_service_get_workers_by_gid_task_allocate: no_query,
    doca_urom_service_get_workers_by_gid_task_allocate_init: task::gid_allocate_init,
    doca_urom_service_get_workers_by_gid_task_release: task::gid_release,
    doca_urom_service_get_workers_by_gid_task_set_gid: ignore,
    doca_urom_service_get_workers_by_gid_task_set_cb: ignore,
    doca_urom_service_get_workers_by_gid_task_as_task: cast,
    doca_urom_service_get_workers_by_gid_task_get_workers_count: task::gid_count,
    doca_urom_service_get_workers_by_gid_task_get_worker_ids: task::gid_ids,
    doca_urom_worker_create: objects::create::<_, false>,
    doca_urom_worker_destroy: objects::destroy,
    doca_urom_worker_set_service: set_service,
    doca_urom_worker_set_id: objects::worker_set_id,
    doca_urom_worker_set_plugins: objects::worker_set_plugins,
    doca_urom_worker_set_cpuset: objects::worker_set_cpuset,
    doca_urom_worker_set_gid: objects::worker_set_gid,
    doca_urom_worker_set_max_inflight_tasks: objects::worker_set_max_inflight,
    doca_urom_worker_set_env: objects::worker_set_env,
    doca_urom_worker_get_id: objects::worker_get_id,
    doca_urom_worker_get_gid: objects::worker_get_gid,
    doca_urom_worker_as_ctx: cast,
    doca_urom_worker_cmd_task_allocate: no_command,
    doca_urom_worker_cmd_task_allocate_init: task::cmd_allocate_init,
    doca_urom_worker_cmd_task_release: task::cmd_release,
    doca_urom_worker_cmd_task_set_plugin: ignore,
    doca_urom_worker_cmd_task_set_cb: task::cmd_set_cb,
    doca_urom_worker_cmd_task_get_payload: task::cmd_get_payload,
    doca_urom_worker_cmd_task_get_response: task::cmd_get_response,
    doca_urom_worker_cmd_task_get_user_data: cast,
    doca_urom_worker_cmd_task_as_task: task::as_task,
    doca_urom_domain_create: domain::create,
    doca_urom_domain_destroy: objects::destroy,
    doca_urom_domain_set_buffers_count: domain::set_buffers_count,
    doca_urom_domain_add_buffer: domain::add_buffer,
    doca_urom_domain_set_oob: domain::set_oob,
    doca_urom_domain_set_workers: domain::set_workers,
    doca_urom_domain_as_ctx: cast,
    doca_ctx_start: core::ctx_start,
    doca_ctx_stop: core::ctx_stop,
    doca_ctx_get_state: core::ctx_get_state,
    doca_ctx_set_user_data: core::ctx_set_user_data,
    doca_ctx_get_user_data: no_data,
    doca_ctx_set_state_changed_cb: core::ctx_set_cb,
    doca_ctx_get_num_inflight_tasks: core::ctx_in_flight,
    doca_pe_create: core::pe_create,
    doca_pe_destroy: core::pe_destroy,
    doca_pe_connect_ctx: core::pe_connect,
    doca_pe_progress: core::pe_progress,
    doca_pe_get_num_inflight_tasks: core::pe_in_flight,
    doca_pe_get_notification_handle: core::pe_handle,
    doca_pe_request_notification: core::pe_request,
    doca_pe_clear_notification: core::pe_clear,
    doca_task_submit: task::submit,
    doca_task_get_status: task::get_status,
    doca_task_set_user_data: task::set_user_data,
    doca_task_get_user_data: task::get_user_data,
    doca_task_get_ctx: task::get_ctx,
    doca_buf_get_data: task::buf_get_data,
    doca_buf_get_data_len: task::buf_get_data_len,
    doca_buf_set_data: task::buf_set_data,
    doca_devinfo_create_list: no_devices,
    doca_devinfo_destroy_list: no_list,
    doca_devinfo_get_ibdev_name: no_name,
    doca_devinfo_get_pci_addr_str: no_address,
    doca_dev_open: no_open,
    doca_dev_close: no_close,
    extensions: Extensions {
        urom_service_set_address: Some(objects::set_address),
        urom_service_set_embedded: Some(set_embedded),
        urom_service_set_any_device: Some(set_any_device),
        urom_service_set_key_file: Some(set_key_file),
        urom_service_get_plugin_fingerprint: Some(objects::plugin_fingerprint),
        urom_service_get_plugin_description: Some(objects::plugin_description),
        urom_ctx_get_failure_code: Some(objects::failure_code),
        urom_ctx_get_failure: Some(objects::failure),
        urom_worker_get_health: Some(objects::worker_health),
        urom_worker_cmd_task_get_end: Some(task::cmd_get_end),
        urom_worker_cmd_task_get_failure: Some(task::cmd_get_failure),
        urom_worker_cmd_task_set_deadline: Some(task::cmd_set_deadline),
        urom_worker_cmd_task_cancel: Some(task::cmd_cancel),
        urom_worker_cmd_task_forget: Some(task::cmd_forget),
        urom_worker_cmd_task_get_area: Some(task::cmd_get_area),
        urom_worker_get_cancelled: Some(task::worker_cancelled),
        urom_worker_leave: Some(core::worker_leave),
        urom_worker_share_memory: None,
        urom_worker_unshare_memory: None,
        urom_pe_progress_many: Some(core::pe_progress_many),
        urom_pe_wake_within: Some(core::pe_wake_within),
    },
};
