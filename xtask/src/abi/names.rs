//! The table between the two languages: what each thing in Rust is called in C, and what only C
//! programs have.

use std::collections::BTreeMap;
use std::mem::offset_of;

use urom_abi::cpu::CpuSet;
use urom_abi::host::{
    CmdTaskEnd, CtxState, Data, IBDEV_NAME_SIZE, IFACE_NAME_SIZE, OobColl, PCI_ADDR_SIZE,
    WorkerHealth,
};
use urom_abi::list::ListLink;
use urom_abi::log::{DISABLE, Level};
use urom_abi::plugin::{
    DomainLookups, PLUGIN_NAME_CAPACITY, PluginIface, PluginInfo, WorkerCmd, WorkerCmdDesc,
    WorkerCtx, WorkerNotifDesc, WorkerNotify,
};
use urom_abi::version::RELEASE;
use urom_abi::{DocaError, WORKER_ID_ANY};

/// Rust's types of which C sees pointers only.
pub(crate) const OPAQUE: &[(&str, &str)] = &[
    ("Pe", "doca_pe"),
    ("Ctx", "doca_ctx"),
    ("Task", "doca_task"),
    ("Buf", "doca_buf"),
    ("Dev", "doca_dev"),
    ("DevInfo", "doca_devinfo"),
    ("Service", "doca_urom_service"),
    ("GidTask", "doca_urom_service_get_workers_by_gid_task"),
    ("Worker", "doca_urom_worker"),
    ("CmdTask", "doca_urom_worker_cmd_task"),
    ("Domain", "doca_urom_domain"),
    ("DevRep", "doca_dev_rep"),
    ("DevInfoRep", "doca_devinfo_rep"),
    ("Mmap", "doca_mmap"),
    ("BufInventory", "doca_buf_inventory"),
    ("Param", "doca_argp_param"),
    ("Backend", "doca_log_backend"),
];

/// Rust's structures around one integer, which are enums in C.
pub(crate) const ENUMS: &[(&str, &str)] = &[
    ("DocaError", "doca_error"),
    ("CtxState", "doca_ctx_states"),
    ("PciFuncType", "doca_pci_func_type"),
    ("ParamType", "doca_argp_type"),
];

/// Functions that a plugin exports, and the type that Rust has for each.
pub(crate) const OF_PLUGINS: &[(&str, &str)] =
    &[("urom_plugin_get_iface", "GetIfaceFn"), ("urom_plugin_get_version", "GetVersionFn")];

/// Enums that no function takes or gives: they are numbers there.
pub(crate) const ENUMS_OF_C_ONLY: &[&str] =
    &["doca_access_flag", "doca_devinfo_rep_filter", "doca_log_level"];

/// Constants that Rust code has no use for.
pub(crate) const CONSTANTS_OF_C_ONLY: &[&str] = &[
    "DOCA_ACCESS_FLAG_LOCAL_READ_ONLY",
    "DOCA_ACCESS_FLAG_LOCAL_READ_WRITE",
    "DOCA_ACCESS_FLAG_PCI_READ_ONLY",
    "DOCA_ACCESS_FLAG_PCI_READ_WRITE",
    "DOCA_ACCESS_FLAG_PCI_RELAXED_ORDERING",
    "DOCA_ACCESS_FLAG_RDMA_ATOMIC",
    "DOCA_ACCESS_FLAG_RDMA_READ",
    "DOCA_ACCESS_FLAG_RDMA_WRITE",
    "DOCA_DEVINFO_PCI_BDF_SIZE",
    "DOCA_DEVINFO_REP_FILTER_ALL",
    "DOCA_DEVINFO_REP_FILTER_EMULATED",
    "DOCA_DEVINFO_REP_FILTER_NET",
    "DOCA_DEVINFO_REP_VUID_SIZE",
    "DOCA_PCI_FUNC_TYPE_PF",
    "DOCA_PCI_FUNC_TYPE_SF",
    "DOCA_PCI_FUNC_TYPE_VF",
];

/// A structure or union of Rust with C's name, and its layout as rustc has it.
pub(crate) struct Layout {
    pub(crate) rust: &'static str,
    pub(crate) c: &'static str,
    pub(crate) size: usize,
    pub(crate) align: usize,
    /// C's member, Rust's field, and where it lies.
    pub(crate) fields: &'static [(&'static str, &'static str, usize)],
}

macro_rules! layout {
    ($rust:ident = $c:literal { $($member:literal = $field:ident),* $(,)? }) => {
        Layout {
            rust: stringify!($rust),
            c: $c,
            size: size_of::<$rust>(),
            align: align_of::<$rust>(),
            fields: &[$(($member, stringify!($field), offset_of!($rust, $field))),*],
        }
    };
}

/// All of them.
pub(crate) const LAYOUTS: &[Layout] = &[
    layout!(Data = "doca_data" { "ptr" = ptr, "u64" = u64 }),
    layout!(WorkerHealth = "urom_worker_health" { "plugin" = plugin, "method" = method, "seconds" = seconds }),
    layout!(CmdTaskEnd = "urom_cmd_task_end" { "status" = status, "response" = response, "length" = length }),
    layout!(OobColl = "doca_urom_domain_oob_coll" {
        "allgather" = allgather,
        "req_test" = req_test,
        "req_free" = req_free,
        "coll_info" = coll_info,
        "n_oob_indexes" = n_oob_indexes,
        "oob_index" = oob_index,
    }),
    layout!(ListLink = "ucs_list_link" { "prev" = prev, "next" = next }),
    // Its one field is private, and a structure begins with its first field.
    Layout {
        rust: "CpuSet",
        c: "ucs_cpu_set_t",
        size: size_of::<CpuSet>(),
        align: align_of::<CpuSet>(),
        fields: &[("ucs_bits", "words", 0)],
    },
    layout!(PluginInfo = "doca_urom_service_plugin_info" {
        "id" = id, "version" = version, "plugin_name" = plugin_name,
    }),
    layout!(WorkerCmd = "urom_worker_cmd" { "type" = plugin_id, "urom_context" = urom_context, "len" = len }),
    layout!(WorkerCmdDesc = "urom_worker_cmd_desc" {
        "entry" = entry, "dest_id" = dest_id, "worker_cmd" = worker_cmd,
    }),
    layout!(WorkerNotify = "urom_worker_notify" {
        "type" = plugin_id, "urom_context" = urom_context, "len" = len, "status" = status, "reserved" = reserved,
    }),
    layout!(WorkerNotifDesc = "urom_worker_notif_desc" {
        "entry" = entry, "dest_id" = dest_id, "worker_notif" = worker_notif,
    }),
    layout!(PluginIface = "urom_plugin_iface" {
        "__doca_api_version" = api_version,
        "open" = open,
        "close" = close,
        "addr" = addr,
        "worker_cmd" = worker_cmd,
        "progress" = progress,
        "notif_pack" = notif_pack,
    }),
    layout!(DomainLookups = "urom_domain_lookups_iface" {
        "addr_lookup" = addr_lookup,
        "seg_lookup" = seg_lookup,
        "memh_lookup" = memh_lookup,
        "mkey_lookup" = mkey_lookup,
    }),
    layout!(WorkerCtx = "urom_worker_ctx" {
        "iface" = iface, "domain_iface" = domain_iface, "plugin_ctx" = plugin_ctx,
    }),
];

/// The structures that bytes follow without a gap. C has a member for them, a flexible array; Rust
/// has none.
pub(crate) const FLEXIBLE: &[(&str, &str)] =
    &[("urom_worker_cmd", "plugin_cmd"), ("urom_worker_notify", "plugin_notif")];

/// The constants that this program can see, under C's names.
pub(crate) fn constants() -> BTreeMap<String, String> {
    let codes = (0..).map(DocaError).take_while(|code| code.name() != "DOCA_ERROR_UNRECOGNIZED");
    let codes = codes.map(|code| (code.name(), code.0.to_string()));
    let parts = ["DOCA_VERSION_MAJOR", "DOCA_VERSION_MINOR", "DOCA_VERSION_PATCH"].into_iter();
    let parts = parts.zip(RELEASE.split('.').map(str::to_owned));
    let levels = Level::ALL.into_iter().map(|level| {
        let name = match level {
            Level::Crit => "DOCA_LOG_LEVEL_CRIT",
            Level::Error => "DOCA_LOG_LEVEL_ERROR",
            Level::Warning => "DOCA_LOG_LEVEL_WARNING",
            Level::Info => "DOCA_LOG_LEVEL_INFO",
            Level::Debug => "DOCA_LOG_LEVEL_DEBUG",
            Level::Trace => "DOCA_LOG_LEVEL_TRACE",
        };
        (name, level.number().to_string())
    });
    let others = [
        ("DOCA_LOG_LEVEL_DISABLE", DISABLE.to_string()),
        ("DOCA_CTX_STATE_IDLE", CtxState::IDLE.0.to_string()),
        ("DOCA_CTX_STATE_STARTING", CtxState::STARTING.0.to_string()),
        ("DOCA_CTX_STATE_RUNNING", CtxState::RUNNING.0.to_string()),
        ("DOCA_CTX_STATE_STOPPING", CtxState::STOPPING.0.to_string()),
        ("DOCA_UROM_PLUGIN_NAME_MAX_LEN", PLUGIN_NAME_CAPACITY.to_string()),
        // bindgen reads -1ULL as a signed number.
        ("DOCA_UROM_WORKER_ID_ANY", WORKER_ID_ANY.cast_signed().to_string()),
        ("DOCA_VERSION_STRING", format!("{RELEASE:?}")),
        ("DOCA_DEVINFO_IBDEV_NAME_SIZE", IBDEV_NAME_SIZE.to_string()),
        ("DOCA_DEVINFO_IFACE_NAME_SIZE", IFACE_NAME_SIZE.to_string()),
        ("DOCA_DEVINFO_PCI_ADDR_SIZE", PCI_ADDR_SIZE.to_string()),
        ("UCS_CPU_SETSIZE", CpuSet::CAPACITY.to_string()),
    ];
    codes
        .chain(parts)
        .chain(levels)
        .chain(others)
        .map(|(name, value)| (name.to_owned(), value))
        .collect()
}

/// Constants of crates that this program cannot link because they need UCX: C's name, Rust's file,
/// and the constant's name there, behind that of its `impl` if it is in one.
pub(crate) const IN_SOURCES: &[(&str, &str, &str)] = &[
    ("DOCA_ARGP_TYPE_UNKNOWN", "libdoca/argp/src/model.rs", "UNKNOWN"),
    ("DOCA_ARGP_TYPE_STRING", "libdoca/argp/src/model.rs", "STRING"),
    ("DOCA_ARGP_TYPE_INT", "libdoca/argp/src/model.rs", "INT"),
    ("DOCA_ARGP_TYPE_BOOLEAN", "libdoca/argp/src/model.rs", "BOOLEAN"),
    ("DOCA_ARGP_TYPE_JSON_OBJ", "libdoca/argp/src/model.rs", "JSON_OBJ"),
];
