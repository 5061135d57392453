//! DOCA's functions of memory, sync events, graphs and device queries for C programs. Rust hosts
//! use `urom-memory` and futures. `libdoca_common` exports them, `libdoca_urom` implements them.

use std::ffi::{c_char, c_int, c_void};

use super::{
    Buf, BufInventory, BufPool, Ctx, Data, Dev, DevInfo, Dpa, FreeCallback, Graph, GraphCallback,
    GraphInstance, GraphNode, Mmap, MmapAdvise, MmapAdviseTaskInvalidateCache, Pe, SyncEvent,
    SyncEventRemoteNet, SyncEventTaskGet, SyncEventTaskNotifyAdd, SyncEventTaskNotifySet,
    SyncEventTaskWaitEq, SyncEventTaskWaitNeq, Task, TaskCallback, UserNodeCallback,
};
use crate::error::DocaStatus;

/// Calls a macro with each of these functions, as `fn name(argument: Type, ...) [-> Type];`. The
/// caller imports the same types as this file. See the headers in `urom-abi/include`.
#[doc(hidden)]
#[macro_export]
macro_rules! host_memory {
    ($callback:ident) => {
        $callback! {
            fn doca_dev_as_devinfo(dev: *const Dev) -> *mut DevInfo;
            fn doca_devinfo_is_equal_pci_addr(info: *const DevInfo, address: *const c_char, is_equal: *mut u8) -> DocaStatus;
            fn doca_devinfo_get_iface_name(info: *const DevInfo, name: *mut c_char, size: u32) -> DocaStatus;
            fn doca_devinfo_get_mac_addr(info: *const DevInfo, address: *mut u8, size: u32) -> DocaStatus;
            fn doca_devinfo_get_ipv4_addr(info: *const DevInfo, address: *mut u8, size: u32) -> DocaStatus;
            fn doca_devinfo_get_ipv6_addr(info: *const DevInfo, address: *mut u8, size: u32) -> DocaStatus;
            fn doca_devinfo_cap_is_hotplug_manager_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_devinfo_cap_is_notification_moderation_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_devinfo_cap_is_accelerate_resource_reclaim_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_devinfo_rep_cap_is_filter_all_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_devinfo_rep_cap_is_filter_net_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_devinfo_rep_cap_is_filter_emulated_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_ctx_cap_get_num_completion_vectors(info: *const DevInfo, count: *mut u32) -> DocaStatus;

            fn doca_mmap_create(map: *mut *mut Mmap) -> DocaStatus;
            fn doca_mmap_create_from_export(user_data: *const Data, bytes: *const c_void, len: usize, dev: *mut Dev, map: *mut *mut Mmap) -> DocaStatus;
            fn doca_mmap_destroy(map: *mut Mmap) -> DocaStatus;
            fn doca_mmap_start(map: *mut Mmap) -> DocaStatus;
            fn doca_mmap_stop(map: *mut Mmap) -> DocaStatus;
            fn doca_mmap_add_dev(map: *mut Mmap, dev: *mut Dev) -> DocaStatus;
            fn doca_mmap_rm_dev(map: *mut Mmap, dev: *mut Dev) -> DocaStatus;
            fn doca_mmap_export_pci(map: *mut Mmap, dev: *const Dev, bytes: *mut *const c_void, len: *mut usize) -> DocaStatus;
            fn doca_mmap_export_rdma(map: *mut Mmap, dev: *const Dev, bytes: *mut *const c_void, len: *mut usize) -> DocaStatus;
            fn doca_mmap_dev_get_dpa_handle(map: *mut Mmap, dev: *const Dev, handle: *mut u64) -> DocaStatus;
            fn doca_mmap_set_memrange(map: *mut Mmap, address: *mut c_void, len: usize) -> DocaStatus;
            fn doca_mmap_set_dmabuf_memrange(map: *mut Mmap, fd: c_int, address: *mut c_void, offset: usize, len: usize) -> DocaStatus;
            fn doca_mmap_set_dpa_memrange(map: *mut Mmap, dpa: *mut Dpa, address: u64, len: usize) -> DocaStatus;
            fn doca_mmap_get_memrange(map: *const Mmap, address: *mut *mut c_void, len: *mut usize) -> DocaStatus;
            fn doca_mmap_set_free_cb(map: *mut Mmap, callback: Option<FreeCallback>, cookie: *mut c_void) -> DocaStatus;
            fn doca_mmap_set_user_data(map: *mut Mmap, data: Data) -> DocaStatus;
            fn doca_mmap_get_user_data(map: *const Mmap, data: *mut Data) -> DocaStatus;
            fn doca_mmap_set_max_num_devices(map: *mut Mmap, count: u32) -> DocaStatus;
            fn doca_mmap_get_max_num_devices(map: *const Mmap, count: *mut u32) -> DocaStatus;
            fn doca_mmap_get_num_bufs(map: *const Mmap, count: *mut u32) -> DocaStatus;
            fn doca_mmap_get_exported(map: *const Mmap, exported: *mut u8) -> DocaStatus;
            fn doca_mmap_get_from_export(map: *const Mmap, from_export: *mut u8) -> DocaStatus;
            fn doca_mmap_set_permissions(map: *mut Mmap, access: u32) -> DocaStatus;
            fn doca_mmap_cap_is_export_pci_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_mmap_cap_is_create_from_export_pci_supported(info: *const DevInfo, supported: *mut u8) -> DocaStatus;
            fn doca_mmap_enable_thread_safety(map: *mut Mmap) -> DocaStatus;

            fn doca_buf_inc_refcount(buf: *mut Buf, before: *mut u16) -> DocaStatus;
            fn doca_buf_dec_refcount(buf: *mut Buf, before: *mut u16) -> DocaStatus;
            fn doca_buf_get_refcount(buf: *const Buf, count: *mut u16) -> DocaStatus;
            fn doca_buf_get_len(buf: *const Buf, len: *mut usize) -> DocaStatus;
            fn doca_buf_get_head(buf: *const Buf, head: *mut *mut c_void) -> DocaStatus;
            fn doca_buf_set_data_len(buf: *mut Buf, len: usize) -> DocaStatus;
            fn doca_buf_reset_data_len(buf: *mut Buf) -> DocaStatus;
            fn doca_buf_get_next_in_list(buf: *mut Buf, next: *mut *mut Buf) -> DocaStatus;
            fn doca_buf_get_last_in_list(buf: *mut Buf, last: *mut *mut Buf) -> DocaStatus;
            fn doca_buf_is_last_in_list(buf: *const Buf, is_last: *mut u8) -> DocaStatus;
            fn doca_buf_is_first_in_list(buf: *const Buf, is_first: *mut u8) -> DocaStatus;
            fn doca_buf_is_in_list(buf: *const Buf, is_in_list: *mut u8) -> DocaStatus;
            fn doca_buf_get_list_len(buf: *const Buf, count: *mut u32) -> DocaStatus;
            fn doca_buf_chain_list(first: *mut Buf, second: *mut Buf) -> DocaStatus;
            fn doca_buf_chain_list_tail(head: *mut Buf, tail: *mut Buf, second: *mut Buf) -> DocaStatus;
            fn doca_buf_unchain_list(first: *mut Buf, second: *mut Buf) -> DocaStatus;

            fn doca_buf_inventory_create(count: usize, inventory: *mut *mut BufInventory) -> DocaStatus;
            fn doca_buf_inventory_destroy(inventory: *mut BufInventory) -> DocaStatus;
            fn doca_buf_inventory_start(inventory: *mut BufInventory) -> DocaStatus;
            fn doca_buf_inventory_stop(inventory: *mut BufInventory) -> DocaStatus;
            fn doca_buf_inventory_buf_get_by_args(
                inventory: *mut BufInventory, map: *mut Mmap, address: *mut c_void, len: usize,
                data: *mut c_void, data_len: usize, buf: *mut *mut Buf
            ) -> DocaStatus;
            fn doca_buf_inventory_buf_reuse_by_data(buf: *mut Buf, data: *mut c_void, len: usize) -> DocaStatus;
            fn doca_buf_inventory_buf_reuse_by_addr(buf: *mut Buf, address: *mut c_void, len: usize) -> DocaStatus;
            fn doca_buf_inventory_buf_dup(inventory: *mut BufInventory, source: *const Buf, buf: *mut *mut Buf) -> DocaStatus;
            fn doca_buf_inventory_set_user_data(inventory: *mut BufInventory, data: Data) -> DocaStatus;
            fn doca_buf_inventory_get_user_data(inventory: *const BufInventory, data: *mut Data) -> DocaStatus;
            fn doca_buf_inventory_get_num_elements(inventory: *const BufInventory, count: *mut u32) -> DocaStatus;
            fn doca_buf_inventory_get_num_free_elements(inventory: *const BufInventory, count: *mut u32) -> DocaStatus;
            fn doca_buf_inventory_expand(inventory: *mut BufInventory, count: u32) -> DocaStatus;

            fn doca_buf_pool_create(count: usize, size: usize, map: *const Mmap, pool: *mut *mut BufPool) -> DocaStatus;
            fn doca_buf_pool_destroy(pool: *mut BufPool) -> DocaStatus;
            fn doca_buf_pool_start(pool: *mut BufPool) -> DocaStatus;
            fn doca_buf_pool_stop(pool: *mut BufPool) -> DocaStatus;
            fn doca_buf_pool_buf_alloc(pool: *mut BufPool, buf: *mut *mut Buf) -> DocaStatus;
            fn doca_buf_pool_set_user_data(pool: *mut BufPool, data: Data) -> DocaStatus;
            fn doca_buf_pool_get_user_data(pool: *const BufPool, data: *mut Data) -> DocaStatus;
            fn doca_buf_pool_set_element_alignment(pool: *mut BufPool, alignment: usize) -> DocaStatus;
            fn doca_buf_pool_get_element_alignment(pool: *const BufPool, alignment: *mut usize) -> DocaStatus;
            fn doca_buf_pool_get_num_elements(pool: *const BufPool, count: *mut u32) -> DocaStatus;
            fn doca_buf_pool_get_num_free_elements(pool: *const BufPool, count: *mut u32) -> DocaStatus;

            fn doca_sync_event_create(event: *mut *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_create_from_export(dev: *mut Dev, data: *const u8, len: usize, event: *mut *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_destroy(event: *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_add_publisher_location_cpu(event: *mut SyncEvent, dev: *mut Dev) -> DocaStatus;
            fn doca_sync_event_add_publisher_location_remote_pci(event: *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_add_publisher_location_remote_net(event: *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_add_subscriber_location_cpu(event: *mut SyncEvent, dev: *mut Dev) -> DocaStatus;
            fn doca_sync_event_add_subscriber_location_remote_pci(event: *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_set_addr(event: *mut SyncEvent, address: *mut u64) -> DocaStatus;
            fn doca_sync_event_set_doca_buf(event: *mut SyncEvent, buf: *mut Buf) -> DocaStatus;
            fn doca_sync_event_start(event: *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_stop(event: *mut SyncEvent) -> DocaStatus;
            fn doca_sync_event_as_ctx(event: *mut SyncEvent) -> *mut Ctx;
            fn doca_sync_event_export_to_remote_pci(event: *mut SyncEvent, dev: *mut Dev, data: *mut *const u8, len: *mut usize) -> DocaStatus;
            fn doca_sync_event_export_to_remote_net(event: *mut SyncEvent, data: *mut *const u8, len: *mut usize) -> DocaStatus;
            fn doca_sync_event_get(event: *mut SyncEvent, value: *mut u64) -> DocaStatus;
            fn doca_sync_event_update_add(event: *mut SyncEvent, value: u64, fetched: *mut u64) -> DocaStatus;
            fn doca_sync_event_update_set(event: *mut SyncEvent, value: u64) -> DocaStatus;
            fn doca_sync_event_wait_gt(event: *mut SyncEvent, value: u64, mask: u64) -> DocaStatus;
            fn doca_sync_event_wait_gt_yield(event: *mut SyncEvent, value: u64, mask: u64) -> DocaStatus;
            fn doca_sync_event_wait_eq(event: *mut SyncEvent, value: u64, mask: u64) -> DocaStatus;
            fn doca_sync_event_wait_eq_yield(event: *mut SyncEvent, value: u64, mask: u64) -> DocaStatus;
            fn doca_sync_event_wait_neq(event: *mut SyncEvent, value: u64, mask: u64) -> DocaStatus;
            fn doca_sync_event_wait_neq_yield(event: *mut SyncEvent, value: u64, mask: u64) -> DocaStatus;

            fn doca_sync_event_remote_net_create_from_export(dev: *mut Dev, data: *const u8, len: usize, event: *mut *mut SyncEventRemoteNet) -> DocaStatus;
            fn doca_sync_event_remote_net_destroy(event: *mut SyncEventRemoteNet) -> DocaStatus;
            fn doca_sync_event_cap_is_create_from_export_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_remote_net_is_create_from_export_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_is_export_to_remote_pci_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_is_export_to_remote_net_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_task_get_is_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_task_notify_set_is_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_task_notify_add_is_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_task_wait_eq_is_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_sync_event_cap_task_wait_neq_is_supported(info: *const DevInfo) -> DocaStatus;

            fn doca_sync_event_task_get_set_conf(event: *mut SyncEvent, completed: Option<TaskCallback<SyncEventTaskGet>>, failed: Option<TaskCallback<SyncEventTaskGet>>, count: u32) -> DocaStatus;
            fn doca_sync_event_task_get_alloc_init(event: *mut SyncEvent, value: *mut u64, data: Data, task: *mut *mut SyncEventTaskGet) -> DocaStatus;
            fn doca_sync_event_task_get_as_doca_task(task: *mut SyncEventTaskGet) -> *mut Task;
            fn doca_sync_event_task_get_set_ret_val_ptr(task: *mut SyncEventTaskGet, value: *mut u64);
            fn doca_sync_event_task_get_get_ret_val_ptr(task: *const SyncEventTaskGet) -> *mut u64;

            fn doca_sync_event_task_notify_set_set_conf(event: *mut SyncEvent, completed: Option<TaskCallback<SyncEventTaskNotifySet>>, failed: Option<TaskCallback<SyncEventTaskNotifySet>>, count: u32) -> DocaStatus;
            fn doca_sync_event_task_notify_set_alloc_init(event: *mut SyncEvent, value: u64, data: Data, task: *mut *mut SyncEventTaskNotifySet) -> DocaStatus;
            fn doca_sync_event_task_notify_set_as_doca_task(task: *mut SyncEventTaskNotifySet) -> *mut Task;
            fn doca_sync_event_task_notify_set_set_set_val(task: *mut SyncEventTaskNotifySet, value: u64);
            fn doca_sync_event_task_notify_set_get_set_val(task: *const SyncEventTaskNotifySet) -> u64;

            fn doca_sync_event_task_notify_add_set_conf(event: *mut SyncEvent, completed: Option<TaskCallback<SyncEventTaskNotifyAdd>>, failed: Option<TaskCallback<SyncEventTaskNotifyAdd>>, count: u32) -> DocaStatus;
            fn doca_sync_event_task_notify_add_alloc_init(event: *mut SyncEvent, value: u64, fetched: *mut u64, data: Data, task: *mut *mut SyncEventTaskNotifyAdd) -> DocaStatus;
            fn doca_sync_event_task_notify_add_as_doca_task(task: *mut SyncEventTaskNotifyAdd) -> *mut Task;
            fn doca_sync_event_task_notify_add_set_inc_val(task: *mut SyncEventTaskNotifyAdd, value: u64);
            fn doca_sync_event_task_notify_add_get_inc_val(task: *const SyncEventTaskNotifyAdd) -> u64;
            fn doca_sync_event_task_notify_add_set_fetched_val_ptr(task: *mut SyncEventTaskNotifyAdd, value: *mut u64);
            fn doca_sync_event_task_notify_add_get_fetched_val_ptr(task: *const SyncEventTaskNotifyAdd) -> *mut u64;

            fn doca_sync_event_task_wait_eq_set_conf(event: *mut SyncEvent, completed: Option<TaskCallback<SyncEventTaskWaitEq>>, failed: Option<TaskCallback<SyncEventTaskWaitEq>>, count: u32) -> DocaStatus;
            fn doca_sync_event_task_wait_eq_alloc_init(event: *mut SyncEvent, value: u64, mask: u64, data: Data, task: *mut *mut SyncEventTaskWaitEq) -> DocaStatus;
            fn doca_sync_event_task_wait_eq_as_doca_task(task: *mut SyncEventTaskWaitEq) -> *mut Task;
            fn doca_sync_event_task_wait_eq_set_wait_val(task: *mut SyncEventTaskWaitEq, value: u64);
            fn doca_sync_event_task_wait_eq_get_wait_val(task: *const SyncEventTaskWaitEq) -> u64;
            fn doca_sync_event_task_wait_eq_set_mask(task: *mut SyncEventTaskWaitEq, value: u64);
            fn doca_sync_event_task_wait_eq_get_mask(task: *const SyncEventTaskWaitEq) -> u64;

            fn doca_sync_event_task_wait_neq_set_conf(event: *mut SyncEvent, completed: Option<TaskCallback<SyncEventTaskWaitNeq>>, failed: Option<TaskCallback<SyncEventTaskWaitNeq>>, count: u32) -> DocaStatus;
            fn doca_sync_event_task_wait_neq_alloc_init(event: *mut SyncEvent, value: u64, mask: u64, data: Data, task: *mut *mut SyncEventTaskWaitNeq) -> DocaStatus;
            fn doca_sync_event_task_wait_neq_as_doca_task(task: *mut SyncEventTaskWaitNeq) -> *mut Task;
            fn doca_sync_event_task_wait_neq_set_wait_val(task: *mut SyncEventTaskWaitNeq, value: u64);
            fn doca_sync_event_task_wait_neq_get_wait_val(task: *const SyncEventTaskWaitNeq) -> u64;
            fn doca_sync_event_task_wait_neq_set_mask(task: *mut SyncEventTaskWaitNeq, value: u64);
            fn doca_sync_event_task_wait_neq_get_mask(task: *const SyncEventTaskWaitNeq) -> u64;

            fn doca_mmap_advise_create(dev: *mut Dev, advise: *mut *mut MmapAdvise) -> DocaStatus;
            fn doca_mmap_advise_destroy(advise: *mut MmapAdvise) -> DocaStatus;
            fn doca_mmap_advise_as_ctx(advise: *mut MmapAdvise) -> *mut Ctx;
            fn doca_mmap_advise_cap_task_cache_invalidate_is_supported(info: *const DevInfo) -> DocaStatus;
            fn doca_mmap_advise_task_cache_invalidate_get_max_buf_size(info: *const DevInfo, size: *mut u64) -> DocaStatus;
            fn doca_mmap_advise_task_invalidate_cache_set_conf(advise: *mut MmapAdvise, completed: Option<TaskCallback<MmapAdviseTaskInvalidateCache>>, failed: Option<TaskCallback<MmapAdviseTaskInvalidateCache>>, count: u32) -> DocaStatus;
            fn doca_mmap_advise_task_invalidate_cache_alloc_init(advise: *mut MmapAdvise, buf: *mut Buf, data: Data, task: *mut *mut MmapAdviseTaskInvalidateCache) -> DocaStatus;
            fn doca_mmap_advise_task_invalidate_cache_as_doca_task(task: *mut MmapAdviseTaskInvalidateCache) -> *mut Task;
            fn doca_mmap_advise_task_invalidate_cache_set_buf(task: *mut MmapAdviseTaskInvalidateCache, buf: *mut Buf);
            fn doca_mmap_advise_task_invalidate_cache_get_buf(task: *const MmapAdviseTaskInvalidateCache) -> *mut Buf;

            fn doca_graph_create(pe: *mut Pe, graph: *mut *mut Graph) -> DocaStatus;
            fn doca_graph_destroy(graph: *mut Graph) -> DocaStatus;
            fn doca_graph_set_conf(graph: *mut Graph, completed: Option<GraphCallback>, failed: Option<GraphCallback>, count: u32) -> DocaStatus;
            fn doca_graph_set_user_data(graph: *mut Graph, data: Data) -> DocaStatus;
            fn doca_graph_get_user_data(graph: *const Graph, data: *mut Data) -> DocaStatus;
            fn doca_graph_node_create_from_ctx(graph: *mut Graph, ctx: *const Ctx, node: *mut *mut GraphNode) -> DocaStatus;
            fn doca_graph_node_create_from_user(graph: *mut Graph, callback: Option<UserNodeCallback>, node: *mut *mut GraphNode) -> DocaStatus;
            fn doca_graph_node_create_from_graph(graph: *mut Graph, sub_graph: *mut Graph, node: *mut *mut GraphNode) -> DocaStatus;
            fn doca_graph_add_dependency(graph: *mut Graph, from: *mut GraphNode, to: *mut GraphNode) -> DocaStatus;
            fn doca_graph_start(graph: *mut Graph) -> DocaStatus;
            fn doca_graph_stop(graph: *mut Graph) -> DocaStatus;
            fn doca_graph_instance_create(graph: *const Graph, instance: *mut *mut GraphInstance) -> DocaStatus;
            fn doca_graph_instance_destroy(instance: *mut GraphInstance) -> DocaStatus;
            fn doca_graph_instance_set_user_data(instance: *mut GraphInstance, data: Data) -> DocaStatus;
            fn doca_graph_instance_get_user_data(instance: *const GraphInstance, data: *mut Data) -> DocaStatus;
            fn doca_graph_instance_set_ctx_node_data(instance: *mut GraphInstance, node: *mut GraphNode, task: *mut Task) -> DocaStatus;
            fn doca_graph_instance_set_user_node_data(instance: *mut GraphInstance, node: *mut GraphNode, cookie: *mut c_void) -> DocaStatus;
            fn doca_graph_instance_set_sub_graph_node_data(instance: *mut GraphInstance, node: *mut GraphNode, sub_instance: *mut GraphInstance) -> DocaStatus;
            fn doca_graph_instance_submit(instance: *mut GraphInstance) -> DocaStatus;

            fn doca_task_try_submit(task: *mut Task) -> DocaStatus;
            fn doca_task_submit_ex(task: *mut Task, flags: u32) -> DocaStatus;
            fn doca_ctx_flush_tasks(ctx: *mut Ctx);
        }
    };
}

macro_rules! table {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        /// The functions, each under its C name.
        #[derive(Clone, Copy, Debug)]
        #[repr(C)]
        #[allow(missing_docs, reason = "the headers document them")]
        pub struct MemoryApi {
            $(pub $name: unsafe extern "C" fn($($arg: $ty),*) $(-> $ret)?,)*
        }

        impl MemoryApi {
            /// The C name of every function in the table, in order.
            pub const SYMBOLS: &'static [&'static str] = &[$(stringify!($name)),*];
        }
    };
}

host_memory!(table);
