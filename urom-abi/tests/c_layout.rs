//! The structures and codes of Rust, held against a C compiler's reading of the headers in `include/`.
//!
//! Rust's sizes, offsets and values are written into a C file as `_Static_assert`s, and the file is compiled: nothing of
//! it runs, so this works for a foreign target as well.

mod c;

use std::fmt::Write as _;
use std::mem::offset_of;
use std::path::Path;

use urom_abi::list::ListLink;
use urom_abi::plugin::{
    DomainLookups, PLUGIN_NAME_CAPACITY, PluginIface, PluginInfo, WorkerCmd, WorkerCmdDesc,
    WorkerCtx, WorkerNotifDesc, WorkerNotify,
};
use urom_abi::version::exact;
use urom_abi::{DocaError, WORKER_ID_ANY};

/// Compiles `code` behind an include of the header; gives the compiler's complaints when it refuses.
fn compile(code: &str) -> Result<(), String> {
    let include = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/include"));
    // The structures end in flexible arrays and lie in each other, as DOCA's do; ISO C has no such thing.
    let pragma = "#pragma GCC diagnostic ignored \"-Wpedantic\"";
    c::check(c::Language::C11, include, &format!("{pragma}\n#include <doca_urom.h>\n{code}"))
}

/// `_Static_assert`s for a structure: C's name, Rust's type, and pairs of C member and Rust field.
macro_rules! structure {
    ($out:ident, $c:literal, $rust:ty, { $($member:literal = $($field:ident).+),* $(,)? }) => {
        assert_equal(&mut $out, concat!("sizeof(", $c, ")"), size_of::<$rust>() as u64);
        assert_equal(&mut $out, concat!("_Alignof(", $c, ")"), align_of::<$rust>() as u64);
        $(assert_equal(
            &mut $out,
            concat!("offsetof(", $c, ", ", $member, ")"),
            offset_of!($rust, $($field).+) as u64,
        );)*
    };
}

fn assert_equal(out: &mut String, c: &str, rust: u64) {
    writeln!(out, "_Static_assert({c} == {rust}U, \"{c} is {rust} in Rust\");").expect("a string");
}

fn assertions() -> String {
    let mut out = String::new();
    structure!(out, "ucs_list_link_t", ListLink, { "prev" = prev, "next" = next });
    structure!(out, "struct doca_urom_service_plugin_info", PluginInfo, {
        "id" = id, "version" = version, "plugin_name" = plugin_name,
    });
    structure!(out, "struct urom_worker_cmd", WorkerCmd, {
        "type" = plugin_id, "urom_context" = urom_context, "len" = len,
    });
    structure!(out, "struct urom_worker_cmd_desc", WorkerCmdDesc, {
        "entry" = entry,
        "dest_id" = dest_id,
        "worker_cmd" = worker_cmd,
        "worker_cmd.type" = worker_cmd.plugin_id,
        "worker_cmd.urom_context" = worker_cmd.urom_context,
        "worker_cmd.len" = worker_cmd.len,
    });
    structure!(out, "struct urom_worker_notify", WorkerNotify, {
        "type" = plugin_id,
        "urom_context" = urom_context,
        "len" = len,
        "status" = status,
        "reserved" = reserved,
    });
    structure!(out, "struct urom_worker_notif_desc", WorkerNotifDesc, {
        "entry" = entry,
        "dest_id" = dest_id,
        "worker_notif" = worker_notif,
        "worker_notif.type" = worker_notif.plugin_id,
        "worker_notif.urom_context" = worker_notif.urom_context,
        "worker_notif.len" = worker_notif.len,
        "worker_notif.status" = worker_notif.status,
        "worker_notif.reserved" = worker_notif.reserved,
    });
    structure!(out, "struct urom_plugin_iface", PluginIface, {
        "__doca_api_version" = api_version,
        "open" = open,
        "close" = close,
        "addr" = addr,
        "worker_cmd" = worker_cmd,
        "progress" = progress,
        "notif_pack" = notif_pack,
    });
    structure!(out, "struct urom_domain_lookups_iface", DomainLookups, {
        "addr_lookup" = addr_lookup,
        "seg_lookup" = seg_lookup,
        "memh_lookup" = memh_lookup,
        "mkey_lookup" = mkey_lookup,
    });
    structure!(out, "struct urom_worker_ctx", WorkerCtx, {
        "iface" = iface, "domain_iface" = domain_iface, "plugin_ctx" = plugin_ctx,
    });
    // The bytes of a message follow its header without a gap.
    for (member, end) in [
        ("struct urom_worker_cmd, plugin_cmd", size_of::<WorkerCmd>()),
        ("struct urom_worker_cmd_desc, worker_cmd.plugin_cmd", size_of::<WorkerCmdDesc>()),
        ("struct urom_worker_notify, plugin_notif", size_of::<WorkerNotify>()),
        ("struct urom_worker_notif_desc, worker_notif.plugin_notif", size_of::<WorkerNotifDesc>()),
    ] {
        assert_equal(&mut out, &format!("offsetof({member})"), end as u64);
    }
    assert_equal(&mut out, "sizeof(doca_error_t)", size_of::<DocaError>() as u64);
    for code in (0..).map(DocaError).take_while(|code| code.name() != "DOCA_ERROR_UNRECOGNIZED") {
        assert_equal(&mut out, code.name(), u64::from(code.0));
    }
    assert_equal(&mut out, "DOCA_UROM_PLUGIN_NAME_MAX_LEN", PLUGIN_NAME_CAPACITY as u64);
    assert_equal(&mut out, "DOCA_VERSION_CALC_EXACT(3, 0, 58)", exact(3, 0, 58) as u64);
    assert_equal(&mut out, "DOCA_VERSION_EXACT", exact(2, 7, 0) as u64);
    // What DOCA's own 3.0.0058 says; the patch is counted in thousands.
    assert_equal(&mut out, "DOCA_VERSION_CALC(3, 0, 58)", 0x0300_E290);
    assert_equal(&mut out, "sizeof(DOCA_VERSION_EXACT)", size_of::<usize>() as u64);
    assert_equal(&mut out, "sizeof(DOCA_UROM_WORKER_ID_ANY)", 8);
    assert_equal(&mut out, "DOCA_UROM_WORKER_ID_ANY", WORKER_ID_ANY);
    out
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn every_size_offset_and_value_is_the_c_compilers() {
    let assertions = assertions();
    assert!(assertions.contains("DOCA_ERROR_SKIPPED == 30"), "all codes are compared");
    if let Err(complaints) = compile(&assertions) {
        panic!("Rust and C disagree:\n{complaints}");
    }
}

#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn a_disagreement_is_found() {
    let mut wrong = String::new();
    assert_equal(&mut wrong, "sizeof(struct urom_worker_cmd)", 23);
    let complaints = compile(&wrong).expect_err("the size is 24");
    assert!(complaints.contains("sizeof(struct urom_worker_cmd) is 23 in Rust"), "{complaints}");
}

/// The types of the methods are those of the Rust function pointers, argument by argument.
#[test]
#[cfg_attr(miri, ignore = "it runs the C compiler")]
fn the_methods_take_and_give_what_rust_says() {
    let code = "\
static doca_error_t open_or_progress(struct urom_worker_ctx *ctx) { (void)ctx; return DOCA_SUCCESS; }
static void close_(struct urom_worker_ctx *ctx) { (void)ctx; }
static doca_error_t addr(struct urom_worker_ctx *c, void *a, size_t *n) { (void)c; (void)a; (void)n; return 0; }
static doca_error_t list(struct urom_worker_ctx *c, ucs_list_link_t *l) { (void)c; (void)l; return 0; }
static doca_error_t pack(struct urom_worker_notify *n, size_t *l, void *p) { (void)n; (void)l; (void)p; return 0; }
struct urom_plugin_iface iface = {
\tDOCA_STRUCT_CTOR_LIST_START,
\t.open = open_or_progress, .close = close_, .addr = addr,
\t.worker_cmd = list, .progress = list, .notif_pack = pack,
};
";
    if let Err(complaints) = compile(code) {
        panic!("the header's methods have other types:\n{complaints}");
    }
}
