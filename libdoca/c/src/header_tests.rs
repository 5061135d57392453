//! Compares the functions with DOCA's headers for its core.

use c_interface::{assert_functions, c_types, functions};

use crate::core::*;
use crate::log::*;
use crate::table::*;
use crate::unsupported::*;

c_types! {
    DevRep = "struct doca_dev_rep",
    DevInfoRep = "struct doca_devinfo_rep",
    GpuSyncEvent = "doca_gpu_dev_sync_event_t",
}

/// Names in the host table, which urom-abi's tests compare with the headers.
macro_rules! of_table {
    (urom { $($urom:tt)* } core { $($(#[$doc:meta])* fn $name:ident($($arg:tt)*) $(-> $ret:ty)?;)* }) => {
        [$(stringify!($name)),*]
    };
}

macro_rules! any {
    ($($token:tt)*) => {
        _
    };
}

macro_rules! prototypes {
    ($(fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        Vec::from(functions![$($name($(any!($arg)),*) $(-> any!($ret))?),*])
    };
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "C's char and uint8_t are both Rust's u8")]
fn the_functions_match_the_headers() {
    let of_table = urom_abi::host_functions!(of_table);
    let others = functions![
        doca_error_get_name(_) -> _,
        doca_error_get_descr(_) -> _,
        doca_version_runtime() -> _,
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
        doca_dev_rep_as_devinfo(_) -> _,
        doca_task_batch_free(_),
        doca_task_batch_set_user_data(_, _),
        doca_task_batch_get_user_data(_) -> _,
        doca_task_batch_get_ctx(_) -> _,
        doca_task_batch_get_ctx_user_data(_) -> _,
        doca_task_batch_get_tasks_num(_) -> _,
    ];
    let mut functions = unsupported_functions!(prototypes);
    functions.extend(urom_abi::host_memory!(prototypes));
    functions.extend(others);
    let is_own = |name: &str| {
        let of_others = ["doca_urom_", "doca_argp_", "urom_"];
        // urom-log's tests compare `doca_log`, which is written in C.
        let is_elsewhere = of_table.contains(&name) || name == "doca_log";
        !is_elsewhere && !of_others.iter().any(|prefix| name.starts_with(prefix))
    };
    assert_functions(&functions, is_own);
}
