//! DOCA's memory maps, buffers, inventories, pools and sync events: functions that `libdoca_common`
//! exports and `libdoca_urom` has. Rust hosts do not call them through a table: they have
//! `urom-memory`.

use std::ffi::{c_int, c_void};

use super::{
    Buf, BufInventory, BufPool, Ctx, Data, Dev, DevInfo, Dpa, FreeCallback, Mmap, SyncEvent,
};
use crate::error::DocaError;

/// Calls a macro with each of these functions, as `fn name(argument: Type, ...) -> Type;`. Whoever
/// calls this imports the types that this file imports.
///
/// `urom-abi/include` documents them.
#[doc(hidden)]
#[macro_export]
macro_rules! host_memory {
    ($callback:ident) => {
        $callback! {
            fn doca_mmap_create(map: *mut *mut Mmap) -> DocaError;
            fn doca_mmap_create_from_export(user_data: *const Data, bytes: *const c_void, len: usize, dev: *mut Dev, map: *mut *mut Mmap) -> DocaError;
            fn doca_mmap_destroy(map: *mut Mmap) -> DocaError;
            fn doca_mmap_start(map: *mut Mmap) -> DocaError;
            fn doca_mmap_stop(map: *mut Mmap) -> DocaError;
            fn doca_mmap_add_dev(map: *mut Mmap, dev: *mut Dev) -> DocaError;
            fn doca_mmap_rm_dev(map: *mut Mmap, dev: *mut Dev) -> DocaError;
            fn doca_mmap_export_pci(map: *mut Mmap, dev: *const Dev, bytes: *mut *const c_void, len: *mut usize) -> DocaError;
            fn doca_mmap_export_rdma(map: *mut Mmap, dev: *const Dev, bytes: *mut *const c_void, len: *mut usize) -> DocaError;
            fn doca_mmap_dev_get_dpa_handle(map: *mut Mmap, dev: *const Dev, handle: *mut u64) -> DocaError;
            fn doca_mmap_set_memrange(map: *mut Mmap, address: *mut c_void, len: usize) -> DocaError;
            fn doca_mmap_set_dmabuf_memrange(map: *mut Mmap, fd: c_int, address: *mut c_void, offset: usize, len: usize) -> DocaError;
            fn doca_mmap_set_dpa_memrange(map: *mut Mmap, dpa: *mut Dpa, address: u64, len: usize) -> DocaError;
            fn doca_mmap_get_memrange(map: *const Mmap, address: *mut *mut c_void, len: *mut usize) -> DocaError;
            fn doca_mmap_set_free_cb(map: *mut Mmap, callback: Option<FreeCallback>, cookie: *mut c_void) -> DocaError;
            fn doca_mmap_set_user_data(map: *mut Mmap, data: Data) -> DocaError;
            fn doca_mmap_get_user_data(map: *const Mmap, data: *mut Data) -> DocaError;
            fn doca_mmap_set_max_num_devices(map: *mut Mmap, count: u32) -> DocaError;
            fn doca_mmap_get_max_num_devices(map: *const Mmap, count: *mut u32) -> DocaError;
            fn doca_mmap_get_num_bufs(map: *const Mmap, count: *mut u32) -> DocaError;
            fn doca_mmap_get_exported(map: *const Mmap, exported: *mut u8) -> DocaError;
            fn doca_mmap_get_from_export(map: *const Mmap, from_export: *mut u8) -> DocaError;
            fn doca_mmap_set_permissions(map: *mut Mmap, access: u32) -> DocaError;
            fn doca_mmap_cap_is_export_pci_supported(info: *const DevInfo, supported: *mut u8) -> DocaError;
            fn doca_mmap_cap_is_create_from_export_pci_supported(info: *const DevInfo, supported: *mut u8) -> DocaError;
            fn doca_mmap_enable_thread_safety(map: *mut Mmap) -> DocaError;

            fn doca_buf_inc_refcount(buf: *mut Buf, before: *mut u16) -> DocaError;
            fn doca_buf_dec_refcount(buf: *mut Buf, before: *mut u16) -> DocaError;
            fn doca_buf_get_refcount(buf: *const Buf, count: *mut u16) -> DocaError;
            fn doca_buf_get_len(buf: *const Buf, len: *mut usize) -> DocaError;
            fn doca_buf_get_head(buf: *const Buf, head: *mut *mut c_void) -> DocaError;
            fn doca_buf_set_data_len(buf: *mut Buf, len: usize) -> DocaError;
            fn doca_buf_reset_data_len(buf: *mut Buf) -> DocaError;
            fn doca_buf_get_next_in_list(buf: *mut Buf, next: *mut *mut Buf) -> DocaError;
            fn doca_buf_get_last_in_list(buf: *mut Buf, last: *mut *mut Buf) -> DocaError;
            fn doca_buf_is_last_in_list(buf: *const Buf, is_last: *mut u8) -> DocaError;
            fn doca_buf_is_first_in_list(buf: *const Buf, is_first: *mut u8) -> DocaError;
            fn doca_buf_is_in_list(buf: *const Buf, is_in_list: *mut u8) -> DocaError;
            fn doca_buf_get_list_len(buf: *const Buf, count: *mut u32) -> DocaError;
            fn doca_buf_chain_list(first: *mut Buf, second: *mut Buf) -> DocaError;
            fn doca_buf_chain_list_tail(head: *mut Buf, tail: *mut Buf, second: *mut Buf) -> DocaError;
            fn doca_buf_unchain_list(first: *mut Buf, second: *mut Buf) -> DocaError;

            fn doca_buf_inventory_create(count: usize, inventory: *mut *mut BufInventory) -> DocaError;
            fn doca_buf_inventory_destroy(inventory: *mut BufInventory) -> DocaError;
            fn doca_buf_inventory_start(inventory: *mut BufInventory) -> DocaError;
            fn doca_buf_inventory_stop(inventory: *mut BufInventory) -> DocaError;
            fn doca_buf_inventory_buf_get_by_args(
                inventory: *mut BufInventory, map: *mut Mmap, address: *mut c_void, len: usize,
                data: *mut c_void, data_len: usize, buf: *mut *mut Buf
            ) -> DocaError;
            fn doca_buf_inventory_buf_dup(inventory: *mut BufInventory, source: *const Buf, buf: *mut *mut Buf) -> DocaError;
            fn doca_buf_inventory_set_user_data(inventory: *mut BufInventory, data: Data) -> DocaError;
            fn doca_buf_inventory_get_user_data(inventory: *const BufInventory, data: *mut Data) -> DocaError;
            fn doca_buf_inventory_get_num_elements(inventory: *const BufInventory, count: *mut u32) -> DocaError;
            fn doca_buf_inventory_get_num_free_elements(inventory: *const BufInventory, count: *mut u32) -> DocaError;
            fn doca_buf_inventory_expand(inventory: *mut BufInventory, count: u32) -> DocaError;

            fn doca_buf_pool_create(count: usize, size: usize, map: *const Mmap, pool: *mut *mut BufPool) -> DocaError;
            fn doca_buf_pool_destroy(pool: *mut BufPool) -> DocaError;
            fn doca_buf_pool_start(pool: *mut BufPool) -> DocaError;
            fn doca_buf_pool_stop(pool: *mut BufPool) -> DocaError;
            fn doca_buf_pool_buf_alloc(pool: *mut BufPool, buf: *mut *mut Buf) -> DocaError;
            fn doca_buf_pool_set_user_data(pool: *mut BufPool, data: Data) -> DocaError;
            fn doca_buf_pool_get_user_data(pool: *const BufPool, data: *mut Data) -> DocaError;
            fn doca_buf_pool_set_element_alignment(pool: *mut BufPool, alignment: usize) -> DocaError;
            fn doca_buf_pool_get_element_alignment(pool: *const BufPool, alignment: *mut usize) -> DocaError;
            fn doca_buf_pool_get_num_elements(pool: *const BufPool, count: *mut u32) -> DocaError;
            fn doca_buf_pool_get_num_free_elements(pool: *const BufPool, count: *mut u32) -> DocaError;

            fn doca_sync_event_create(event: *mut *mut SyncEvent) -> DocaError;
            fn doca_sync_event_create_from_export(dev: *mut Dev, data: *const u8, len: usize, event: *mut *mut SyncEvent) -> DocaError;
            fn doca_sync_event_destroy(event: *mut SyncEvent) -> DocaError;
            fn doca_sync_event_add_publisher_location_cpu(event: *mut SyncEvent, dev: *mut Dev) -> DocaError;
            fn doca_sync_event_add_publisher_location_remote_pci(event: *mut SyncEvent) -> DocaError;
            fn doca_sync_event_add_publisher_location_remote_net(event: *mut SyncEvent) -> DocaError;
            fn doca_sync_event_add_subscriber_location_cpu(event: *mut SyncEvent, dev: *mut Dev) -> DocaError;
            fn doca_sync_event_add_subscriber_location_remote_pci(event: *mut SyncEvent) -> DocaError;
            fn doca_sync_event_set_addr(event: *mut SyncEvent, address: *mut u64) -> DocaError;
            fn doca_sync_event_set_doca_buf(event: *mut SyncEvent, buf: *mut Buf) -> DocaError;
            fn doca_sync_event_start(event: *mut SyncEvent) -> DocaError;
            fn doca_sync_event_stop(event: *mut SyncEvent) -> DocaError;
            fn doca_sync_event_as_ctx(event: *mut SyncEvent) -> *mut Ctx;
            fn doca_sync_event_export_to_remote_pci(event: *mut SyncEvent, dev: *mut Dev, data: *mut *const u8, len: *mut usize) -> DocaError;
            fn doca_sync_event_export_to_remote_net(event: *mut SyncEvent, data: *mut *const u8, len: *mut usize) -> DocaError;
            fn doca_sync_event_get(event: *mut SyncEvent, value: *mut u64) -> DocaError;
            fn doca_sync_event_update_add(event: *mut SyncEvent, value: u64, fetched: *mut u64) -> DocaError;
            fn doca_sync_event_update_set(event: *mut SyncEvent, value: u64) -> DocaError;
            fn doca_sync_event_wait_gt(event: *mut SyncEvent, value: u64, mask: u64) -> DocaError;
            fn doca_sync_event_wait_gt_yield(event: *mut SyncEvent, value: u64, mask: u64) -> DocaError;
            fn doca_sync_event_wait_eq(event: *mut SyncEvent, value: u64, mask: u64) -> DocaError;
            fn doca_sync_event_wait_eq_yield(event: *mut SyncEvent, value: u64, mask: u64) -> DocaError;
            fn doca_sync_event_wait_neq(event: *mut SyncEvent, value: u64, mask: u64) -> DocaError;
            fn doca_sync_event_wait_neq_yield(event: *mut SyncEvent, value: u64, mask: u64) -> DocaError;
        }
    };
}

macro_rules! table {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) -> $ret:ty;)*) => {
        /// The functions, each under its C name.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        #[allow(missing_docs, reason = "the headers document them")]
        pub struct MemoryApi {
            $(pub $name: unsafe extern "C" fn($($arg: $ty),*) -> $ret,)*
        }

        impl MemoryApi {
            /// The C name of every function in the table, in order.
            pub const SYMBOLS: &'static [&'static str] = &[$(stringify!($name)),*];
        }
    };
}

host_memory!(table);
