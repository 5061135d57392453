//! The table: one small `extern "C"` function for each of DOCA's. It checks pointers and calls safe
//! code.

/// Functions that return a code. Each first finds the objects behind the caller's pointers: `found
/// = finder, pointer`. If there is none, the code is `INVALID_VALUE`. The body's value is stored at
/// the caller's place that is named behind `=>`, if any.
macro_rules! functions {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?)
        [$($found:pat = $find:path, $pointer:ident);*] $(=> $place:ident)? $body:block)*) => {$(
        pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> DocaError {
            guard(|| {
                $(
                    // SAFETY: the caller's object.
                    let $found = unsafe { $find($pointer) }?;
                )*
                functions!(@end $body $($place)?)
            })
        }
    )*};
    (@end $body:block) => { $body };
    (@end $body:block $place:ident) => {{
        present($place)?;
        let value = $body;
        // SAFETY: the caller's place.
        unsafe { put($place, value) }
    }};
}

/// Functions that return another value: `otherwise` if there is no such object, and after a panic.
macro_rules! answers {
    ($(fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $answer:ty, otherwise $otherwise:expr;
        [$found:pat = $find:path, $pointer:ident] $body:block)*) => {$(
        #[allow(clippy::unused_unit, reason = "some answer nothing")]
        pub(super) unsafe extern "C" fn $name($($argument: $type),*) -> $answer {
            guard_or($otherwise, || {
                // SAFETY: the caller's object.
                let Ok($found) = (unsafe { $find($pointer) }) else { return $otherwise };
                $body
            })
        }
    )*};
}

/// Functions that configure an idle object. The object keeps the failure of the last refusal.
macro_rules! settings {
    ($(fn $name:ident($pointer:ident: $object:ty $(, $argument:ident: $type:ty)* $(,)?)
        [$own:ident = $find:path] $set:block)*) => {$(
        pub(super) unsafe extern "C" fn $name($pointer: $object $(, $argument: $type)*) -> DocaError {
            guard(|| {
                // SAFETY: the caller's object.
                let (ctx, $own) = unsafe { $find($pointer) }?;
                ctx.require_idle()?;
                let set = || -> Result<(), Failure> { $set };
                set().map_err(|failure| ctx.fail(&failure))
            })
        }
    )*};
}

mod core;
mod device;
mod domain;
mod service;
mod worker;

use urom_abi::host::{Api, Extensions};

pub use device::{devinfo_get_iface_name, devinfo_is_equal_pci_addr};

/// The functions of this library.
///
/// The table is complete and has `extensions`. Any thread may call the functions. Each object
/// belongs to one thread at a time, except that a service may be given to workers of other threads.
pub fn api() -> &'static Api {
    &API
}

/// The same as a constant, for direct calls.
pub const API: Api = Api {
    doca_urom_service_create: service::create,
    doca_urom_service_destroy: service::destroy,
    doca_urom_service_set_max_comm_msg_size: service::set_max_comm_msg_size,
    doca_urom_service_set_max_workers: service::set_max_workers,
    doca_urom_service_set_dev: service::set_dev,
    doca_urom_service_as_ctx: service::as_ctx,
    doca_urom_service_get_plugins_list: service::get_plugins_list,
    doca_urom_service_get_cpuset: service::get_cpuset,
    doca_urom_service_get_workers_by_gid_task_allocate: service::query_allocate,
    doca_urom_service_get_workers_by_gid_task_allocate_init: service::query_allocate_init,
    doca_urom_service_get_workers_by_gid_task_release: service::query_release,
    doca_urom_service_get_workers_by_gid_task_set_gid: service::query_set_gid,
    doca_urom_service_get_workers_by_gid_task_set_cb: service::query_set_cb,
    doca_urom_service_get_workers_by_gid_task_as_task: service::query_as_task,
    doca_urom_service_get_workers_by_gid_task_get_workers_count: service::query_get_workers_count,
    doca_urom_service_get_workers_by_gid_task_get_worker_ids: service::query_get_worker_ids,
    doca_urom_worker_create: worker::create,
    doca_urom_worker_destroy: worker::destroy,
    doca_urom_worker_set_service: worker::set_service,
    doca_urom_worker_set_id: worker::set_id,
    doca_urom_worker_set_plugins: worker::set_plugins,
    doca_urom_worker_set_cpuset: worker::set_cpuset,
    doca_urom_worker_set_gid: worker::set_gid,
    doca_urom_worker_set_max_inflight_tasks: worker::set_max_inflight_tasks,
    doca_urom_worker_set_env: worker::set_env,
    doca_urom_worker_get_id: worker::get_id,
    doca_urom_worker_get_gid: worker::get_gid,
    doca_urom_worker_as_ctx: worker::as_ctx,
    doca_urom_worker_cmd_task_allocate: worker::cmd_allocate,
    doca_urom_worker_cmd_task_allocate_init: worker::cmd_allocate_init,
    doca_urom_worker_cmd_task_release: worker::cmd_release,
    doca_urom_worker_cmd_task_set_plugin: worker::cmd_set_plugin,
    doca_urom_worker_cmd_task_set_cb: worker::cmd_set_cb,
    doca_urom_worker_cmd_task_get_payload: worker::cmd_get_payload,
    doca_urom_worker_cmd_task_get_response: worker::cmd_get_response,
    doca_urom_worker_cmd_task_get_user_data: worker::cmd_get_user_data,
    doca_urom_worker_cmd_task_as_task: worker::cmd_as_task,
    doca_urom_domain_create: domain::create,
    doca_urom_domain_destroy: domain::destroy,
    doca_urom_domain_set_buffers_count: domain::set_buffers_count,
    doca_urom_domain_add_buffer: domain::add_buffer,
    doca_urom_domain_set_oob: domain::set_oob,
    doca_urom_domain_set_workers: domain::set_workers,
    doca_urom_domain_as_ctx: domain::as_ctx,
    doca_ctx_start: core::ctx_start,
    doca_ctx_stop: core::ctx_stop,
    doca_ctx_get_state: core::ctx_get_state,
    doca_ctx_set_user_data: core::ctx_set_user_data,
    doca_ctx_get_user_data: core::ctx_get_user_data,
    doca_ctx_set_state_changed_cb: core::ctx_set_state_changed_cb,
    doca_ctx_get_num_inflight_tasks: core::ctx_get_num_inflight_tasks,
    doca_pe_create: core::pe_create,
    doca_pe_destroy: core::pe_destroy,
    doca_pe_connect_ctx: core::pe_connect_ctx,
    doca_pe_progress: core::pe_progress,
    doca_pe_get_num_inflight_tasks: core::pe_get_num_inflight_tasks,
    doca_pe_get_notification_handle: core::pe_get_notification_handle,
    doca_pe_request_notification: core::pe_request_notification,
    doca_pe_clear_notification: core::pe_clear_notification,
    doca_task_submit: core::task_submit,
    doca_task_get_status: core::task_get_status,
    doca_task_set_user_data: core::task_set_user_data,
    doca_task_get_user_data: core::task_get_user_data,
    doca_task_get_ctx: core::task_get_ctx,
    doca_buf_get_data: core::buf_get_data,
    doca_buf_get_data_len: core::buf_get_data_len,
    doca_buf_set_data: core::buf_set_data,
    doca_devinfo_create_list: device::create_list,
    doca_devinfo_destroy_list: device::destroy_list,
    doca_devinfo_get_ibdev_name: device::get_ibdev_name,
    doca_devinfo_get_pci_addr_str: device::get_pci_addr_str,
    doca_dev_open: device::open,
    doca_dev_close: device::close,
    extensions: Some(Extensions {
        urom_service_set_address: service::set_address,
        urom_service_set_embedded: service::set_embedded,
        urom_service_set_any_device: service::set_any_device,
        urom_service_set_key_file: service::set_key_file,
        urom_service_get_plugin_fingerprint: service::get_plugin_fingerprint,
        urom_service_get_plugin_description: service::get_plugin_description,
        urom_ctx_get_failure_code: core::ctx_get_failure_code,
        urom_ctx_get_failure: core::ctx_get_failure,
        urom_worker_get_health: worker::get_health,
        urom_worker_cmd_task_get_end: worker::cmd_get_end,
        urom_pe_progress_many: core::pe_progress_many,
    }),
};
