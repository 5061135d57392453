//! Compares the host table's functions, the structures and the codes of Rust with the headers in
//! `include/`, as read by a C compiler.

use std::ffi::{c_char, c_int, c_void};

use c_interface::{Function as _, agree, assert_functions, equal, layout, structure};
use urom_abi::cpu::CpuSet;
use urom_abi::extension::{
    Called, CancelReason, CommandCall, LONGEST_FAILURE, PluginExtension, TracedCall, WorkerServices,
};
use urom_abi::host::{
    Buf, CMD_TASK_AREA, Cancelled, CmdTask, CmdTaskCallback, CmdTaskEnd, Ctx, CtxState, Data, Dev,
    DevInfo, Domain, GidTask, GidTaskCallback, IBDEV_NAME_SIZE, IFACE_NAME_SIZE, OobColl,
    PCI_ADDR_SIZE, Pe, Service, StateChangedCallback, Task, Worker, WorkerHealth,
};
use urom_abi::host_memory::{
    HostMemory, MemoryAction, MemoryCallback, MemoryOperation, MemoryPath, OfferedMemory,
};
use urom_abi::list::ListLink;
use urom_abi::log::{DISABLE, Level};
use urom_abi::plugin::{
    DomainLookups, GetIfaceFn, GetVersionFn, PLUGIN_NAME_CAPACITY, PluginIface, PluginInfo,
    WorkerCmd, WorkerCmdDesc, WorkerCtx, WorkerNotifDesc, WorkerNotify,
};
use urom_abi::version::{RELEASE, exact};
use urom_abi::{DocaStatus, WORKER_ID_ANY};

macro_rules! prototypes {
    ($($(#[$doc:meta])* fn $name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $ret:ty)?;)*) => {
        vec![$((
            stringify!($name),
            <unsafe extern "C" fn($($ty),*) $(-> $ret)?>::prototype(stringify!($name)),
        )),*]
    };
}

macro_rules! table {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => {
        [prototypes! { $($urom)* }, prototypes! { $($core)* }].concat()
    };
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "C's char and uint8_t are both Rust's u8")]
fn every_function_of_the_table_takes_and_gives_what_the_headers_say() {
    let mut functions: Vec<(&str, String)> = urom_abi::host_functions!(table);
    functions.extend(urom_abi::host_extensions!(prototypes));
    functions.push(("urom_plugin_get_iface", GetIfaceFn::prototype("urom_plugin_get_iface")));
    functions.push(("urom_plugin_get_version", GetVersionFn::prototype("urom_plugin_get_version")));
    let names: Vec<&str> = functions.iter().map(|(name, _)| *name).collect();
    let is_own = |name: &str| {
        name.starts_with("doca_urom_") || name.starts_with("urom_") || names.contains(&name)
    };
    assert_functions(&functions, is_own);
}

fn structures() -> String {
    let parts = [
        layout("union doca_data", size_of::<Data>(), align_of::<Data>()),
        structure!(ListLink = "ucs_list_link_t" { prev, next }),
        structure!(WorkerHealth = "struct urom_worker_health" { plugin, method, seconds }),
        structure!(CmdTaskEnd = "struct urom_cmd_task_end" { status, cancelled, response, length }),
        structure!(Cancelled = "struct urom_cancelled" { waiting, late, dropped }),
        structure!(OobColl = "struct doca_urom_domain_oob_coll" {
            allgather, req_test, req_free, coll_info, n_oob_indexes, oob_index,
        }),
        structure!(PluginInfo = "struct doca_urom_service_plugin_info" {
            id, version, plugin_name,
        }),
        structure!(WorkerCmd = "struct urom_worker_cmd" { plugin_id = "type", urom_context, len }),
        structure!(WorkerCmdDesc = "struct urom_worker_cmd_desc" { entry, dest_id, worker_cmd }),
        structure!(WorkerNotify = "struct urom_worker_notify" {
            plugin_id = "type", urom_context, len, status, reserved,
        }),
        structure!(WorkerNotifDesc = "struct urom_worker_notif_desc" {
            entry, dest_id, worker_notif,
        }),
        structure!(PluginIface = "struct urom_plugin_iface" {
            api_version = "__doca_api_version", open, close, addr, worker_cmd, progress,
            notif_pack,
        }),
        structure!(DomainLookups = "struct urom_domain_lookups_iface" {
            addr_lookup, seg_lookup, memh_lookup, mkey_lookup,
        }),
        structure!(PluginExtension = "struct urom_plugin_extension" {
            size, attach, call, cancel, host_left, arm,
        }),
        structure!(CommandCall = "struct urom_command_call" {
            size, dest_id, plugin_id = "type", urom_context, command, command_len, answer,
            answer_capacity, answer_len, status, reserved,
        }),
        structure!(TracedCall = "struct urom_traced_call" { call, context, reserved }),
        structure!(WorkerServices = "struct urom_worker_services" {
            size, worker_id, group_id, message_limit, log, connection_limit, deadline, explain,
            open_memory, run_memory, keep_memory, close_memory, moved, enter_span,
            leave_span,
        }),
        structure!(HostMemory = "struct urom_host_memory" {
            size, handle, mapping, address, len, access, path,
        }),
        structure!(MemoryOperation = "struct urom_memory_operation" {
            size, action, status, offset, len, local, operand, compare, result, done,
        }),
        structure!(OfferedMemory = "struct urom_offered_memory" {
            size, memory, address, len, access, fd, fd_offset, path, reserved,
        }),
        structure!(WorkerCtx = "struct urom_worker_ctx" { iface, domain_iface, plugin_ctx }),
    ];
    // A message's bytes follow its header directly.
    let bytes = [
        ("struct urom_worker_cmd, plugin_cmd", size_of::<WorkerCmd>()),
        ("struct urom_worker_cmd_desc, worker_cmd.plugin_cmd", size_of::<WorkerCmdDesc>()),
        ("struct urom_worker_notify, plugin_notif", size_of::<WorkerNotify>()),
        ("struct urom_worker_notif_desc, worker_notif.plugin_notif", size_of::<WorkerNotifDesc>()),
        ("ucs_cpu_set_t, ucs_bits", 0),
    ];
    let bytes = bytes.map(|(of, end)| equal(&format!("offsetof({of})"), end as u64));
    parts.concat() + &bytes.concat()
}

fn values() -> String {
    let codes = (0..).map(DocaStatus).take_while(|code| code.name() != "DOCA_ERROR_UNRECOGNIZED");
    let mut values: Vec<(String, u64)> =
        codes.map(|code| (code.name().to_owned(), code.0.into())).collect();
    let names = ["CRIT", "ERROR", "WARNING", "INFO", "DEBUG", "TRACE"];
    let levels = names.into_iter().zip(Level::ALL.map(Level::number)).chain([("DISABLE", DISABLE)]);
    values.extend(levels.map(|(name, number)| (format!("DOCA_LOG_LEVEL_{name}"), number.into())));
    let parts = ["MAJOR", "MINOR", "PATCH"].into_iter().zip(RELEASE.split('.'));
    values.extend(
        parts.map(|(name, text)| (format!("DOCA_VERSION_{name}"), text.parse().expect("a number"))),
    );
    let others = [
        ("DOCA_CTX_STATE_IDLE", CtxState::IDLE.0.into()),
        ("DOCA_CTX_STATE_STARTING", CtxState::STARTING.0.into()),
        ("DOCA_CTX_STATE_RUNNING", CtxState::RUNNING.0.into()),
        ("DOCA_CTX_STATE_STOPPING", CtxState::STOPPING.0.into()),
        ("DOCA_UROM_PLUGIN_NAME_MAX_LEN", PLUGIN_NAME_CAPACITY as u64),
        ("DOCA_DEVINFO_IBDEV_NAME_SIZE", IBDEV_NAME_SIZE as u64),
        ("DOCA_DEVINFO_IFACE_NAME_SIZE", IFACE_NAME_SIZE as u64),
        ("DOCA_DEVINFO_PCI_ADDR_SIZE", PCI_ADDR_SIZE as u64),
        ("UCS_CPU_SETSIZE", CpuSet::CAPACITY as u64),
        ("DOCA_UROM_WORKER_ID_ANY", WORKER_ID_ANY),
        ("UROM_CMD_TASK_AREA", CMD_TASK_AREA as u64),
        ("UROM_LONGEST_FAILURE", LONGEST_FAILURE as u64),
        ("UROM_MEMORY_MAPPED", MemoryPath::MAPPED.0.into()),
        ("UROM_MEMORY_PROCESS", MemoryPath::PROCESS.0.into()),
        ("UROM_MEMORY_NETWORK", MemoryPath::NETWORK.0.into()),
        ("UROM_MEMORY_READ", MemoryAction::READ.0.into()),
        ("UROM_MEMORY_WRITE", MemoryAction::WRITE.0.into()),
        ("UROM_MEMORY_FETCH_ADD", MemoryAction::FETCH_ADD.0.into()),
        ("UROM_MEMORY_SWAP", MemoryAction::SWAP.0.into()),
        ("UROM_MEMORY_COMPARE_SWAP", MemoryAction::COMPARE_SWAP.0.into()),
        ("UROM_MEMORY_TAG_SEND", MemoryAction::TAG_SEND.0.into()),
        ("UROM_MEMORY_LOAD", MemoryAction::LOAD.0.into()),
        ("UROM_MEMORY_WAIT_GT", MemoryAction::WAIT_GT.0.into()),
        ("UROM_MEMORY_WAIT_EQ", MemoryAction::WAIT_EQ.0.into()),
        ("UROM_MEMORY_WAIT_NEQ", MemoryAction::WAIT_NEQ.0.into()),
        ("UROM_CALLED_ANSWERED", Called::ANSWERED.0.into()),
        ("UROM_CALLED_PENDING", Called::PENDING.0.into()),
        ("UROM_CALLED_DECLINED", Called::DECLINED.0.into()),
        ("UROM_CANCEL_CANCELLED", CancelReason::CANCELLED.0.into()),
        ("UROM_CANCEL_TIMED_OUT", CancelReason::TIMED_OUT.0.into()),
        ("UROM_CANCEL_HOST_LEFT", CancelReason::HOST_LEFT.0.into()),
        ("DOCA_VERSION_CALC_EXACT(3, 0, 58)", exact(3, 0, 58) as u64),
        ("DOCA_VERSION_EXACT", exact(2, 7, 0) as u64),
        // The value of DOCA 3.0.0058, whose patch counts thousands.
        ("DOCA_VERSION_CALC(3, 0, 58)", 0x0300_E290),
        ("sizeof(DOCA_VERSION_EXACT)", size_of::<usize>() as u64),
        ("sizeof(DOCA_UROM_WORKER_ID_ANY)", 8),
        ("sizeof(doca_error_t)", size_of::<DocaStatus>() as u64),
        ("sizeof(enum doca_ctx_states)", size_of::<CtxState>() as u64),
        ("((enum doca_ctx_states)-1 > 0)", 1),
        ("sizeof(ucs_cpu_set_t)", size_of::<CpuSet>() as u64),
        ("sizeof(DOCA_VERSION_STRING)", RELEASE.len() as u64 + 1),
    ];
    values.extend(others.map(|(name, value)| (name.to_owned(), value)));
    values.iter().map(|(c, value)| equal(c, *value)).collect()
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "C's char and uint8_t are both Rust's u8")]
fn every_size_offset_type_and_value_is_the_c_compilers() {
    if let Err(complaints) = agree(&(structures() + &values())) {
        panic!("Rust and C disagree:\n{complaints}");
    }
}

#[track_caller]
fn complaint(code: &str) -> String {
    agree(code).expect_err("the headers say otherwise")
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn each_kind_of_difference_is_found() {
    let prototypes = [
        "doca_error_t doca_buf_get_data(struct doca_buf *, void **);",
        "doca_error_t doca_urom_worker_set_env(struct doca_urom_worker *, char **, size_t);",
        "doca_error_t doca_urom_worker_set_gid(struct doca_urom_worker *, int32_t);",
        "doca_error_t doca_ctx_start(struct doca_ctx *, int);",
        "struct doca_task *doca_urom_domain_as_ctx(struct doca_urom_domain *);",
        "doca_error_t doca_task_free(struct doca_task *);",
        "doca_error_t doca_urom_worker_set_cpuset(struct doca_urom_worker *, const doca_cpu_set_t *);",
        "doca_error_t doca_argp_param_set_callback(struct doca_argp_param *, doca_error_t (*)(const void *, void *));",
    ];
    for prototype in prototypes {
        let found = complaint(prototype);
        assert!(found.contains("conflicting types for"), "{prototype}: {found}");
    }
    let found = complaint(&equal("sizeof(struct urom_worker_cmd)", 23));
    assert!(found.contains("sizeof(struct urom_worker_cmd) is 23 in Rust"), "{found}");
    let found = complaint(&c_interface::member("struct urom_worker_cmd", "len", 16, "uint32_t"));
    assert!(found.contains("struct urom_worker_cmd.len is uint32_t in Rust"), "{found}");
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
#[should_panic(expected = "the functions of Rust and of the headers")]
fn a_function_that_only_the_headers_have_is_found() {
    assert_functions(&[], |name| name == "doca_pe_create");
}
