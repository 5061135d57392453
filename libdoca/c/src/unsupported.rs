//! C functions that this project does not support: representors, hardware queries, DPA and GPU data
//! paths and sync events, log backends in memory or syslog, task batches.
//!
//! Each returns `INVALID_VALUE` for a NULL pointer, else `NOT_SUPPORTED`, or nothing if it does not
//! return a code. It does not access memory through its pointers.

use std::ffi::{c_char, c_int, c_uint};

use urom_abi::DocaStatus;
use urom_abi::host::{
    Ctx, Data, Dev, DevInfo, Dpa, Gpu, Pe, SyncEvent, SyncEventRemoteNet, TaskBatch,
};
use urom_log::backend::Backend;

// Structures that are never created.
pub(crate) enum DevRep {}
pub(crate) enum DevInfoRep {}
pub(crate) enum GpuSyncEvent {}

/// `enum doca_pci_func_type`.
pub(crate) type PciFuncType = c_uint;
/// `log_flush_callback`.
pub(crate) type Flush = Option<unsafe extern "C" fn(buffer: *mut c_char)>;

/// An argument. Only pointers can be missing.
trait Argument {
    fn is_missing(&self) -> bool {
        false
    }
}

impl Argument for usize {}
impl Argument for u32 {}
impl Argument for c_int {}
impl Argument for Data {}

impl<T> Argument for *const T {
    fn is_missing(&self) -> bool {
        self.is_null()
    }
}

impl<T> Argument for *mut T {
    fn is_missing(&self) -> bool {
        self.is_null()
    }
}

impl<T> Argument for Option<T> {
    fn is_missing(&self) -> bool {
        self.is_none()
    }
}

/// Calls a macro with each function, as `fn name(argument: Type, ..) -> DocaStatus;`.
macro_rules! unsupported_functions {
    ($callback:ident) => {
        $callback! {
            fn doca_devinfo_get_pci_func_type(
                info: *const DevInfo, kind: *mut PciFuncType
            ) -> DocaStatus;
            fn doca_devinfo_get_sf_index(info: *const DevInfo, index: *mut u32) -> DocaStatus;
            fn doca_devinfo_get_lid(info: *const DevInfo, lid: *mut u16) -> DocaStatus;
            fn doca_devinfo_get_active_rate(info: *const DevInfo, rate: *mut u64) -> DocaStatus;
            fn doca_devinfo_get_vhca_id(info: *const DevInfo, id: *mut u16) -> DocaStatus;
            fn doca_dev_accelerate_resource_reclaim(dev: *mut Dev) -> DocaStatus;
            fn doca_devinfo_rep_create_list(
                dev: *mut Dev, filter: c_int, list: *mut *mut *mut DevInfoRep, count: *mut u32
            ) -> DocaStatus;
            fn doca_devinfo_rep_destroy_list(list: *mut *mut DevInfoRep) -> DocaStatus;
            fn doca_devinfo_rep_get_vuid(
                info: *const DevInfoRep, vuid: *mut c_char, size: u32
            ) -> DocaStatus;
            fn doca_devinfo_rep_get_pci_addr_str(
                info: *const DevInfoRep, address: *mut c_char
            ) -> DocaStatus;
            fn doca_devinfo_rep_get_pci_func_type(
                info: *const DevInfoRep, kind: *mut PciFuncType
            ) -> DocaStatus;
            fn doca_devinfo_rep_get_is_hotplug(
                info: *const DevInfoRep, is_hotplug: *mut u8
            ) -> DocaStatus;
            fn doca_devinfo_rep_get_iface_name(
                info: *const DevInfoRep, name: *mut c_char, size: u32
            ) -> DocaStatus;
            fn doca_devinfo_rep_get_vhca_id(info: *const DevInfoRep, id: *mut u16) -> DocaStatus;
            fn doca_devinfo_rep_is_equal_pci_addr(
                info: *const DevInfoRep, address: *const c_char, is_equal: *mut u8
            ) -> DocaStatus;
            fn doca_dev_rep_open(info: *mut DevInfoRep, rep: *mut *mut DevRep) -> DocaStatus;
            fn doca_dev_rep_close(rep: *mut DevRep) -> DocaStatus;
            fn doca_ctx_set_datapath_on_gpu(ctx: *mut Ctx, gpu: *mut Gpu) -> DocaStatus;
            fn doca_ctx_set_datapath_on_dpa(ctx: *mut Ctx, dpa: *mut Dpa) -> DocaStatus;
            fn doca_ctx_set_completion_vector(ctx: *mut Ctx, vector: u32) -> DocaStatus;
            fn doca_pe_set_notification_handle(pe: *mut Pe, handle: c_int, key: Data) -> DocaStatus;
            fn doca_log_backend_create_with_buf(
                buf: *mut c_char, capacity: u32, flush: Flush, backend: *mut *mut Backend
            ) -> DocaStatus;
            fn doca_log_backend_create_with_buf_sdk(
                buf: *mut c_char, capacity: u32, flush: Flush, backend: *mut *mut Backend
            ) -> DocaStatus;
            fn doca_log_backend_create_with_syslog(
                name: *const c_char, backend: *mut *mut Backend
            ) -> DocaStatus;
            fn doca_log_backend_create_with_syslog_sdk(
                name: *const c_char, backend: *mut *mut Backend
            ) -> DocaStatus;
            fn doca_sync_event_add_publisher_location_dpa(
                event: *mut SyncEvent, dpa: *mut Dpa
            ) -> DocaStatus;
            fn doca_sync_event_add_publisher_location_gpu(
                event: *mut SyncEvent, gpu: *mut Gpu
            ) -> DocaStatus;
            fn doca_sync_event_add_subscriber_location_dpa(
                event: *mut SyncEvent, dpa: *mut Dpa
            ) -> DocaStatus;
            fn doca_sync_event_add_subscriber_location_gpu(
                event: *mut SyncEvent, gpu: *mut Gpu
            ) -> DocaStatus;
            fn doca_sync_event_get_dpa_handle(
                event: *mut SyncEvent, dpa: *mut Dpa, handle: *mut u64
            ) -> DocaStatus;
            fn doca_sync_event_get_gpu_handle(
                event: *mut SyncEvent, gpu: *mut Gpu, handle: *mut *mut GpuSyncEvent
            ) -> DocaStatus;
            fn doca_sync_event_remote_net_get_dpa_handle(
                event: *mut SyncEventRemoteNet, dpa: *mut Dpa, handle: *mut u64
            ) -> DocaStatus;
            fn doca_sync_event_remote_net_get_gpu_handle(
                event: *mut SyncEventRemoteNet, gpu: *mut Gpu, handle: *mut u64
            ) -> DocaStatus;
            fn doca_sync_event_cap_is_export_to_dpa_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_is_export_to_gpu_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_remote_net_is_export_to_dpa_supported(
                info: *const DevInfo
            ) -> DocaStatus;
            fn doca_sync_event_cap_remote_net_is_export_to_gpu_supported(
                info: *const DevInfo
            ) -> DocaStatus;
            fn doca_task_batch_submit(batch: *mut TaskBatch) -> DocaStatus;
            fn doca_task_batch_try_submit(batch: *mut TaskBatch) -> DocaStatus;
            fn doca_task_batch_get_status(batch: *const TaskBatch) -> DocaStatus;
        }
    };
}
#[cfg(test)]
pub(crate) use unsupported_functions;

macro_rules! unsupported {
    ($(fn $name:ident($($argument:ident: $ty:ty),*) -> $code:ident;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: `NOT_SUPPORTED`.")]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name($($argument: $ty),*) -> $code {
                let is_missing = false $(|| $argument.is_missing())*;
                if is_missing { DocaStatus::INVALID_VALUE } else { DocaStatus::NOT_SUPPORTED }
            }
        )*
    };
}

unsupported_functions!(unsupported);

macro_rules! nothing {
    ($(fn $name:ident($argument:ty $(, $more:ty)*) $(-> $answer:ty)?;)*) => {
        $(
            #[doc = concat!("`", stringify!($name), "`: nothing.")]
            #[unsafe(no_mangle)]
            pub(crate) extern "C" fn $name(_: $argument $(, _: $more)*) $(-> $answer)? {
                Default::default()
            }
        )*
    };
}

nothing! {
    fn doca_dev_rep_as_devinfo(*mut DevRep) -> *mut DevInfoRep;
    fn doca_task_batch_free(*mut TaskBatch);
    fn doca_task_batch_set_user_data(*mut TaskBatch, Data);
    fn doca_task_batch_get_user_data(*const TaskBatch) -> Data;
    fn doca_task_batch_get_ctx(*const TaskBatch) -> *mut Ctx;
    fn doca_task_batch_get_ctx_user_data(*const TaskBatch) -> Data;
    fn doca_task_batch_get_tasks_num(*mut TaskBatch) -> u16;
}
