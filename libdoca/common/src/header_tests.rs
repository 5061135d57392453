//! The functions are those that DOCA's headers declare for `libdoca_common`.

use c_interface::{assert_functions, c_types, functions};

use crate::core::*;
use crate::log::*;
use crate::unsupported::*;

c_types! {
    DevRep = "struct doca_dev_rep",
    DevInfoRep = "struct doca_devinfo_rep",
}

/// Those of the host table: urom-abi's tests hold its list against the headers.
macro_rules! of_table {
    (urom { $($urom:tt)* } core { $($(#[$doc:meta])* fn $name:ident($($arg:tt)*) $(-> $ret:ty)?;)* }) => {
        [$(stringify!($name)),*]
    };
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "C's char and uint8_t are both Rust's u8")]
fn the_functions_take_and_give_what_the_headers_say() {
    let of_table = urom_abi::host_functions!(of_table);
    let functions = functions![
        doca_devinfo_is_equal_pci_addr(_, _, _) -> _,
        doca_devinfo_get_iface_name(_, _, _) -> _,
        doca_error_get_name(_) -> _,
        doca_error_get_descr(_) -> _,
        doca_version_runtime() -> _,
        doca_task_try_submit(_) -> _,
        doca_task_free(_),
        doca_log_register_source(_, _) -> _,
        doca_log_unregister_source(_) -> _,
        doca_log_backend_create_standard() -> _,
        doca_log_backend_create_with_file(_, _) -> _,
        doca_log_backend_create_with_file_sdk(_, _) -> _,
        doca_log_backend_create_with_fd(_, _) -> _,
        doca_log_backend_create_with_fd_sdk(_, _) -> _,
        doca_log_backend_set_sdk_level(_, _) -> _,
        doca_log_backend_set_level_lower_limit(_, _) -> _,
        doca_log_backend_set_level_lower_limit_strict(_, _) -> _,
        doca_log_backend_set_level_upper_limit(_, _) -> _,
        doca_log_backend_set_level_upper_limit_strict(_, _) -> _,
        doca_log_level_set_global_lower_limit(_) -> _,
        doca_log_level_get_global_lower_limit() -> _,
        doca_log_level_set_global_upper_limit(_) -> _,
        doca_log_level_get_global_upper_limit() -> _,
        doca_log_level_set_global_sdk_limit(_) -> _,
        doca_log_level_get_global_sdk_limit() -> _,
        doca_devinfo_get_pci_func_type(_, _) -> _,
        doca_devinfo_get_sf_index(_, _) -> _,
        doca_devinfo_rep_create_list(_, _, _, _) -> _,
        doca_devinfo_rep_destroy_list(_) -> _,
        doca_devinfo_rep_get_vuid(_, _, _) -> _,
        doca_devinfo_rep_is_equal_pci_addr(_, _, _) -> _,
        doca_dev_rep_open(_, _) -> _,
        doca_mmap_create(_) -> _,
        doca_mmap_create_from_export(_, _, _, _, _) -> _,
        doca_mmap_destroy(_) -> _,
        doca_mmap_start(_) -> _,
        doca_mmap_stop(_) -> _,
        doca_mmap_add_dev(_, _) -> _,
        doca_mmap_rm_dev(_, _) -> _,
        doca_mmap_export_pci(_, _, _, _) -> _,
        doca_mmap_export_rdma(_, _, _, _) -> _,
        doca_mmap_dev_get_dpa_handle(_, _, _) -> _,
        doca_mmap_set_memrange(_, _, _) -> _,
        doca_mmap_set_dmabuf_memrange(_, _, _, _, _) -> _,
        doca_mmap_set_dpa_memrange(_, _, _, _) -> _,
        doca_mmap_get_memrange(_, _, _) -> _,
        doca_mmap_set_free_cb(_, _, _) -> _,
        doca_mmap_set_user_data(_, _) -> _,
        doca_mmap_get_user_data(_, _) -> _,
        doca_mmap_set_max_num_devices(_, _) -> _,
        doca_mmap_get_max_num_devices(_, _) -> _,
        doca_mmap_get_num_bufs(_, _) -> _,
        doca_mmap_get_exported(_, _) -> _,
        doca_mmap_get_from_export(_, _) -> _,
        doca_mmap_set_permissions(_, _) -> _,
        doca_mmap_cap_is_export_pci_supported(_, _) -> _,
        doca_mmap_cap_is_create_from_export_pci_supported(_, _) -> _,
        doca_mmap_enable_thread_safety(_) -> _,
        doca_buf_inc_refcount(_, _) -> _,
        doca_buf_dec_refcount(_, _) -> _,
        doca_buf_get_refcount(_, _) -> _,
        doca_buf_get_len(_, _) -> _,
        doca_buf_get_head(_, _) -> _,
        doca_buf_set_data_len(_, _) -> _,
        doca_buf_reset_data_len(_) -> _,
        doca_buf_get_next_in_list(_, _) -> _,
        doca_buf_get_last_in_list(_, _) -> _,
        doca_buf_is_last_in_list(_, _) -> _,
        doca_buf_is_first_in_list(_, _) -> _,
        doca_buf_is_in_list(_, _) -> _,
        doca_buf_get_list_len(_, _) -> _,
        doca_buf_chain_list(_, _) -> _,
        doca_buf_chain_list_tail(_, _, _) -> _,
        doca_buf_unchain_list(_, _) -> _,
        doca_buf_inventory_create(_, _) -> _,
        doca_buf_inventory_destroy(_) -> _,
        doca_buf_inventory_start(_) -> _,
        doca_buf_inventory_stop(_) -> _,
        doca_buf_inventory_buf_get_by_args(_, _, _, _, _, _, _) -> _,
        doca_buf_inventory_buf_dup(_, _, _) -> _,
        doca_buf_inventory_set_user_data(_, _) -> _,
        doca_buf_inventory_get_user_data(_, _) -> _,
        doca_buf_inventory_get_num_elements(_, _) -> _,
        doca_buf_inventory_get_num_free_elements(_, _) -> _,
        doca_buf_inventory_expand(_, _) -> _,
        doca_buf_pool_create(_, _, _, _) -> _,
        doca_buf_pool_destroy(_) -> _,
        doca_buf_pool_start(_) -> _,
        doca_buf_pool_stop(_) -> _,
        doca_buf_pool_buf_alloc(_, _) -> _,
        doca_buf_pool_set_user_data(_, _) -> _,
        doca_buf_pool_get_user_data(_, _) -> _,
        doca_buf_pool_set_element_alignment(_, _) -> _,
        doca_buf_pool_get_element_alignment(_, _) -> _,
        doca_buf_pool_get_num_elements(_, _) -> _,
        doca_buf_pool_get_num_free_elements(_, _) -> _,
        doca_sync_event_create(_) -> _,
        doca_sync_event_create_from_export(_, _, _, _) -> _,
        doca_sync_event_destroy(_) -> _,
        doca_sync_event_add_publisher_location_cpu(_, _) -> _,
        doca_sync_event_add_publisher_location_remote_pci(_) -> _,
        doca_sync_event_add_publisher_location_remote_net(_) -> _,
        doca_sync_event_add_subscriber_location_cpu(_, _) -> _,
        doca_sync_event_add_subscriber_location_remote_pci(_) -> _,
        doca_sync_event_set_addr(_, _) -> _,
        doca_sync_event_set_doca_buf(_, _) -> _,
        doca_sync_event_start(_) -> _,
        doca_sync_event_stop(_) -> _,
        doca_sync_event_as_ctx(_) -> _,
        doca_sync_event_export_to_remote_pci(_, _, _, _) -> _,
        doca_sync_event_export_to_remote_net(_, _, _) -> _,
        doca_sync_event_get(_, _) -> _,
        doca_sync_event_update_add(_, _, _) -> _,
        doca_sync_event_update_set(_, _) -> _,
        doca_sync_event_wait_gt(_, _, _) -> _,
        doca_sync_event_wait_gt_yield(_, _, _) -> _,
        doca_sync_event_wait_eq(_, _, _) -> _,
        doca_sync_event_wait_eq_yield(_, _, _) -> _,
        doca_sync_event_wait_neq(_, _, _) -> _,
        doca_sync_event_wait_neq_yield(_, _, _) -> _,
        doca_log_backend_create_with_buf(_, _, _, _) -> _,
        doca_log_backend_create_with_buf_sdk(_, _, _, _) -> _,
        doca_log_backend_create_with_syslog(_, _) -> _,
        doca_log_backend_create_with_syslog_sdk(_, _) -> _,
    ];
    let is_own = |name: &str| {
        let of_others = ["doca_urom_", "doca_argp_", "urom_"];
        // urom-log's tests compare `doca_log`, which is C.
        let is_elsewhere = of_table.contains(&name) || name == "doca_log";
        !is_elsewhere && !of_others.iter().any(|prefix| name.starts_with(prefix))
    };
    assert_functions(&functions, is_own);
}
