//! Writes Rust types as C types.

use std::ffi::c_void;

use urom_abi::DocaStatus;
use urom_abi::cpu::CpuSet;
use urom_abi::extension::{
    Called, CancelReason, CommandCall, PluginExtension, TracedCall, WorkerServices,
};
use urom_abi::host::{
    Buf, BufInventory, BufPool, Cancelled, CmdTask, CmdTaskEnd, Ctx, CtxState, Data, Dev, DevInfo,
    Domain, Dpa, GidTask, Gpu, Graph, GraphInstance, GraphNode, Mmap, MmapAdvise,
    MmapAdviseTaskInvalidateCache, OobColl, Pe, Service, SyncEvent, SyncEventRemoteNet,
    SyncEventTaskGet, SyncEventTaskNotifyAdd, SyncEventTaskNotifySet, SyncEventTaskWaitEq,
    SyncEventTaskWaitNeq, Task, TaskBatch, Worker, WorkerHealth,
};
use urom_abi::host_memory::{HostMemory, MemoryAction, MemoryOperation, MemoryPath, OfferedMemory};
use urom_abi::list::ListLink;
use urom_abi::plugin::{
    DomainLookups, PluginIface, PluginInfo, WorkerCmd, WorkerCmdDesc, WorkerCtx, WorkerNotifDesc,
    WorkerNotify,
};
use urom_abi::worker_log::WorkerLog;
use urom_log::backend::Backend;

/// A type with a C equivalent.
pub trait CType {
    /// The type in C, as written before a name.
    fn c() -> String;
}

/// Maps Rust types to C types.
#[macro_export]
macro_rules! c_types {
    ($($rust:ty = $c:literal,)*) => {
        $(impl $crate::CType for $rust {
            fn c() -> String {
                $c.to_owned()
            }
        })*
    };
}

c_types! {
    () = "void", c_void = "void", libc::FILE = "FILE", bool = "_Bool",
    i8 = "char", u8 = "uint8_t", u16 = "uint16_t", i32 = "int32_t", u32 = "uint32_t", u64 = "uint64_t", usize = "size_t",
    DocaStatus = "doca_error_t", CtxState = "enum doca_ctx_states", Data = "union doca_data",
    Pe = "struct doca_pe", Ctx = "struct doca_ctx", Task = "struct doca_task", Buf = "struct doca_buf",
    Mmap = "struct doca_mmap", BufInventory = "struct doca_buf_inventory",
    BufPool = "struct doca_buf_pool", Dpa = "struct doca_dpa",
    SyncEvent = "struct doca_sync_event", SyncEventRemoteNet = "struct doca_sync_event_remote_net",
    SyncEventTaskGet = "struct doca_sync_event_task_get",
    SyncEventTaskNotifySet = "struct doca_sync_event_task_notify_set",
    SyncEventTaskNotifyAdd = "struct doca_sync_event_task_notify_add",
    SyncEventTaskWaitEq = "struct doca_sync_event_task_wait_eq",
    SyncEventTaskWaitNeq = "struct doca_sync_event_task_wait_neq",
    MmapAdvise = "struct doca_mmap_advise",
    MmapAdviseTaskInvalidateCache = "struct doca_mmap_advise_task_invalidate_cache",
    Graph = "struct doca_graph", GraphNode = "struct doca_graph_node",
    GraphInstance = "struct doca_graph_instance", TaskBatch = "struct doca_task_batch",
    Gpu = "struct doca_gpu",
    Dev = "struct doca_dev", DevInfo = "struct doca_devinfo", Backend = "struct doca_log_backend",
    Service = "struct doca_urom_service", Worker = "struct doca_urom_worker",
    Domain = "struct doca_urom_domain", CmdTask = "struct doca_urom_worker_cmd_task",
    GidTask = "struct doca_urom_service_get_workers_by_gid_task",
    OobColl = "struct doca_urom_domain_oob_coll", CpuSet = "doca_cpu_set_t",
    PluginInfo = "struct doca_urom_service_plugin_info",
    WorkerHealth = "struct urom_worker_health", CmdTaskEnd = "struct urom_cmd_task_end",
    Cancelled = "struct urom_cancelled", ListLink = "ucs_list_link_t",
    WorkerCtx = "struct urom_worker_ctx",
    WorkerCmd = "struct urom_worker_cmd", WorkerCmdDesc = "struct urom_worker_cmd_desc",
    WorkerNotify = "struct urom_worker_notify", WorkerNotifDesc = "struct urom_worker_notif_desc",
    PluginExtension = "struct urom_plugin_extension", CommandCall = "struct urom_command_call",
    TracedCall = "struct urom_traced_call",
    WorkerServices = "struct urom_worker_services", WorkerLog = "void",
    HostMemory = "struct urom_host_memory", MemoryOperation = "struct urom_memory_operation",
    OfferedMemory = "struct urom_offered_memory", MemoryPath = "uint32_t", MemoryAction = "uint32_t",
    Called = "uint32_t", CancelReason = "uint32_t",
    PluginIface = "struct urom_plugin_iface", DomainLookups = "struct urom_domain_lookups_iface",
}

impl<T: CType> CType for *const T {
    fn c() -> String {
        format!("{} const *", T::c())
    }
}

impl<T: CType> CType for *mut T {
    fn c() -> String {
        format!("{} *", T::c())
    }
}

impl<T: CType, const N: usize> CType for [T; N] {
    fn c() -> String {
        format!("__typeof__({}[{N}])", T::c())
    }
}

impl<F: Function> CType for Option<F> {
    fn c() -> String {
        format!("__typeof__({} (*)({}))", F::returns(), F::arguments())
    }
}

/// A function that C can call.
pub trait Function: Sized {
    /// The return type in C.
    fn returns() -> String;
    /// The argument types in C.
    fn arguments() -> String;
    /// Declares the function in C as `name`.
    fn prototype(name: &str) -> String {
        format!("{} {name}({});\n", Self::returns(), Self::arguments())
    }
}

macro_rules! functions {
    ($($argument:ident)*) => {
        impl<$($argument: CType,)* R: CType> Function for unsafe extern "C" fn($($argument),*) -> R {
            fn returns() -> String {
                R::c()
            }

            fn arguments() -> String {
                let arguments: &[String] = &[$($argument::c()),*];
                if arguments.is_empty() { "void".to_owned() } else { arguments.join(", ") }
            }
        }
    };
}

functions!();
functions!(A);
functions!(A B);
functions!(A B C);
functions!(A B C D);
functions!(A B C D E);
functions!(A B C D E F);
functions!(A B C D E F G);

/// The C type of a field; the closure borrows the field.
pub fn type_of<S, F: CType>(_: fn(&S) -> &F) -> String {
    F::c()
}

/// Declares a function in C as `name`.
pub fn prototype_of<F: Function>(_: F, name: &str) -> String {
    F::prototype(name)
}
