//! The comparison finds each kind of difference. The headers are this project's own, changed in one
//! place; the Rust side is as it is.

use std::fs;
use std::path::{Path, PathBuf};

use super::model::Interface;
use super::{HEADERS, c, compare, rust, symbols, variadic};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace").to_owned()
}

fn rust_side() -> Interface {
    let (interface, trouble) =
        rust::Sources::read(&root()).and_then(|sources| sources.interface()).expect("Rust");
    assert_eq!(trouble, [""; 0]);
    interface
}

/// This project's headers, each as `edit` makes it from its name and text.
fn edited(edit: impl Fn(&str, String) -> String) -> Interface {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for entry in fs::read_dir(root().join(HEADERS)).expect("the headers") {
        let entry = entry.expect("a header");
        let name = entry.file_name().into_string().expect("a readable name");
        let text = fs::read_to_string(entry.path()).expect("text");
        fs::write(directory.path().join(&name), edit(&name, text)).expect("a copy");
    }
    c::read(directory.path()).expect("the headers")
}

/// Those after `old` became `new` in `header`, which has it just once.
fn changed(header: &str, old: &str, new: &str) -> Interface {
    edited(|name, text| {
        if name != header {
            return text;
        }
        assert_eq!(text.matches(old).count(), 1, "`{old}` in {header}");
        text.replace(old, new)
    })
}

/// The one difference that a change makes.
#[track_caller]
fn difference(header: &str, old: &str, new: &str) -> String {
    let mut found = compare::differences(&changed(header, old, new), &rust_side());
    assert_eq!(found.len(), 1, "{found:#?}");
    found.remove(0)
}

#[test]
fn the_headers_as_they_are_have_no_difference() {
    let c = c::read(&root().join(HEADERS)).expect("the headers");
    assert_eq!(compare::differences(&c, &rust_side()), [""; 0]);
    // That is no agreement of two empty sides.
    assert!(c.functions.len() >= 138 && c.records.len() == 14 && c.opaque.len() >= 15, "{c:#?}");
    assert!(c.enums.len() >= 7 && c.constants.len() >= 60, "{c:#?}");
}

#[test]
fn a_lost_const_is_found() {
    let found = difference(
        "doca_buf.h",
        "doca_buf_get_data(const struct doca_buf *buf",
        "doca_buf_get_data(struct doca_buf *buf",
    );
    assert_eq!(
        found,
        "function doca_buf_get_data: (*mut doca_buf, *mut *mut void) -> doca_error in the headers, \
         (*const doca_buf, *mut *mut void) -> doca_error in Rust"
    );
    // One that lies deeper: `char *const *` is not `const char **`.
    let found = difference("doca_urom.h", "char *const env[]", "const char **env");
    assert!(found.contains("(*mut doca_urom_worker, *mut *const char, usize)"), "{found}");
}

#[test]
fn another_sign_or_size_of_an_integer_is_found() {
    let found =
        difference("doca_urom.h", "*worker_ctx, uint32_t gid);", "*worker_ctx, int32_t gid);");
    assert!(found.contains("doca_urom_worker_set_gid: (*mut doca_urom_worker, i32)"), "{found}");
    let found = difference(
        "doca_urom.h",
        "*service_ctx, size_t msg_size);",
        "*service_ctx, uint64_t msg_size);",
    );
    assert!(found.contains("set_max_comm_msg_size: (*mut doca_urom_service, u64)"), "{found}");
    let found = difference("doca_pe.h", "uint8_t doca_pe_progress", "int doca_pe_progress");
    assert!(found.contains("-> i32 in the headers") && found.contains("-> u8 in Rust"), "{found}");
}

#[test]
fn an_argument_more_or_less_is_found() {
    let found = difference(
        "doca_ctx.h",
        "doca_ctx_start(struct doca_ctx *ctx)",
        "doca_ctx_start(struct doca_ctx *ctx, int how)",
    );
    assert!(
        found.contains("doca_ctx_start: (*mut doca_ctx, i32) -> doca_error in the headers"),
        "{found}"
    );
    let found = difference(
        "doca_argp.h",
        "doca_argp_start(int argc, char **argv)",
        "doca_argp_start(char **argv)",
    );
    assert!(found.contains("doca_argp_start: (*mut *mut char)"), "{found}");
    let found = difference(
        "doca_log.h",
        " __attribute__((format(printf, 6, 7)))\n\
         doca_error_t doca_log(uint32_t level, int source, const char *file, int line, const char *func, const char *format, ...)",
        "\n\
         doca_error_t doca_log(uint32_t level, int source, const char *file, int line, const char *func, const char *format)",
    );
    assert!(found.starts_with("function doca_log: "), "{found}");
}

#[test]
fn another_structure_or_return_type_is_found() {
    let found = difference(
        "doca_urom.h",
        "struct doca_ctx *doca_urom_domain_as_ctx",
        "struct doca_task *doca_urom_domain_as_ctx",
    );
    assert!(found.contains("-> *mut doca_task in the headers"), "{found}");
    let found = difference("doca_pe.h", "void doca_task_free(", "doca_error_t doca_task_free(");
    assert!(found.contains("(*mut doca_task) in Rust"), "{found}");
    // A structure where there was a pointer to one.
    let found =
        difference("doca_urom.h", "doca_cpu_set_t cpuset);", "const doca_cpu_set_t *cpuset);");
    assert!(found.contains("*const ucs_cpu_set_t"), "{found}");
}

#[test]
fn a_change_inside_of_a_callback_is_found_where_it_is_used() {
    let found = difference(
        "doca_argp.h",
        "(*doca_argp_param_cb_t)(void *param, void *config)",
        "(*doca_argp_param_cb_t)(const void *param, void *config)",
    );
    assert!(
        found.contains(
            "doca_argp_param_set_callback: (*mut doca_argp_param, fn(*const void, *mut void)"
        ),
        "{found}"
    );
    let found = difference(
        "doca_urom.h",
        "(*doca_urom_domain_req_test_cb_t)(void *req)",
        "(*doca_urom_domain_req_test_cb_t)(void *req, int again)",
    );
    assert!(
        found.contains(
            "structure doca_urom_domain_oob_coll: the type of req_test is fn(*mut void, i32)"
        ),
        "{found}"
    );
}

#[test]
fn what_one_side_alone_has_is_found() {
    let found = difference(
        "doca_pe.h",
        "void doca_task_free(struct doca_task *task);",
        "void doca_task_free2(struct doca_task *task);\nDOCA_STABLE\nvoid doca_task_free(struct doca_task *task);",
    );
    assert_eq!(found, "function doca_task_free2: the headers have it, Rust does not");
    let found =
        difference("doca_mmap.h", "doca_error_t doca_mmap_create(struct doca_mmap **mmap);", "");
    assert_eq!(found, "function doca_mmap_create: Rust has it, the headers do not");
    let found = difference(
        "doca_dev.h",
        "struct doca_devinfo_rep;\n",
        "struct doca_devinfo_rep;\nstruct doca_more;\nDOCA_STABLE\n",
    );
    assert_eq!(found, "opaque structure doca_more: the headers have it, Rust does not");
}

#[test]
fn another_layout_is_found() {
    let header = "doca_urom_plugin.h";
    let found =
        compare::differences(&changed(header, "\tuint32_t reserved;\t/* 0 */\n", ""), &rust_side());
    assert!(
        found.iter().any(|line| line.contains("urom_worker_notify: the list of its fields")),
        "{found:#?}"
    );
    let found = compare::differences(
        &changed(
            header,
            "\tuint64_t id;\t\t/* one bit of a mask, never 0 */\n",
            "\tuint32_t id;\n",
        ),
        &rust_side(),
    );
    assert_eq!(
        found,
        [
            "structure doca_urom_service_plugin_info: the type of id is u32 in the headers, u64 in Rust"
        ]
    );
    let found = compare::differences(
        &changed(
            header,
            "#define DOCA_UROM_PLUGIN_NAME_MAX_LEN 48",
            "#define DOCA_UROM_PLUGIN_NAME_MAX_LEN 64",
        ),
        &rust_side(),
    );
    let plugin_info = "structure doca_urom_service_plugin_info: ";
    assert_eq!(
        found.iter().filter(|line| line.starts_with(plugin_info)).count(),
        2,
        "size and type: {found:#?}"
    );
    assert!(found.iter().any(
        |line| line == "constant DOCA_UROM_PLUGIN_NAME_MAX_LEN: 64 in the headers, 48 in Rust"
    ));
}

#[test]
fn a_flexible_array_that_is_gone_or_displaced_is_found() {
    let header = "doca_urom_plugin.h";
    let found = difference(header, "\tuint8_t plugin_cmd[];\n", "");
    assert!(
        found.contains(
            "urom_worker_cmd: the list of its fields is type, urom_context, len in the headers"
        ),
        "{found}"
    );
    let found = difference(header, "\tuint8_t plugin_notif[];\n", "\tuint16_t plugin_notif[];\n");
    assert!(found.contains("urom_worker_notify: the type of plugin_notif is [u16; 0]"), "{found}");
}

#[test]
fn fields_in_another_order_are_found() {
    let text = "\tstruct ucs_list_link *prev;\n\tstruct ucs_list_link *next;\n";
    let swapped = "\tstruct ucs_list_link *next;\n\tstruct ucs_list_link *prev;\n";
    let found = compare::differences(&changed("urom_list.h", text, swapped), &rust_side());
    assert_eq!(found.len(), 3, "the list and both offsets: {found:#?}");
}

#[test]
fn a_structure_in_place_of_a_union_is_found() {
    let c = edited(|_, text| text.replace("union doca_data", "struct doca_data"));
    let found = compare::differences(&c, &rust_side());
    assert!(
        found.iter().any(|line| line.contains("doca_data: whether it is a union")),
        "{found:#?}"
    );
}

#[test]
fn another_value_of_an_enum_or_constant_is_found() {
    let found = difference("doca_error.h", "DOCA_ERROR_FULL = 24,", "DOCA_ERROR_FULL = 64,");
    assert_eq!(found, "constant DOCA_ERROR_FULL: 64 in the headers, 24 in Rust");
    let found = difference(
        "doca_error.h",
        "\tDOCA_ERROR_SKIPPED = 30\n",
        "\tDOCA_ERROR_SKIPPED = 30,\n\tDOCA_ERROR_MORE\n",
    );
    assert_eq!(found, "constant DOCA_ERROR_MORE: the headers have it, Rust does not");
    let c = changed("doca_ctx.h", "DOCA_CTX_STATE_STOPPING = 3", "DOCA_CTX_STATE_STOPPING = -1");
    let expected = [
        "enum doca_ctx_states: i32 in the headers, u32 in Rust",
        "constant DOCA_CTX_STATE_STOPPING: -1 in the headers, 3 in Rust",
    ];
    assert_eq!(compare::differences(&c, &rust_side()), expected);
    let found = difference("doca_log.h", "DOCA_LOG_LEVEL_INFO = 50,", "DOCA_LOG_LEVEL_INFO = 51,");
    assert_eq!(found, "constant DOCA_LOG_LEVEL_INFO: 51 in the headers, 50 in Rust");
    let found = difference("doca_version.h", "\"2.7.0\"\n", "\"2.7.1\"\n");
    assert_eq!(found, "constant DOCA_VERSION_STRING: \"2.7.1\" in the headers, \"2.7.0\" in Rust");
}

#[test]
fn a_constant_that_only_c_has_must_be_there() {
    let c = changed(
        "doca_dev.h",
        "#define DOCA_DEVINFO_PCI_BDF_SIZE 8",
        "#define DOCA_DEVINFO_BDF_SIZE 8",
    );
    let expected = [
        "constant DOCA_DEVINFO_BDF_SIZE: the headers have it, Rust does not",
        "constant DOCA_DEVINFO_PCI_BDF_SIZE: names.rs says that C has it, the headers do not",
    ];
    assert_eq!(compare::differences(&c, &rust_side()), expected);
}

#[test]
fn a_symbol_too_many_or_too_few_is_found() {
    let declared = c::read(&root().join(HEADERS)).expect("the headers");
    let mut exported = symbols::Exported::new();
    for name in declared.functions.keys().filter(|name| !name.starts_with("urom_plugin_")) {
        let library = match name.split('_').nth(1) {
            _ if name.starts_with("urom_") => "libdoca_urom",
            Some("urom") => "libdoca_urom",
            Some("argp") => "libdoca_argp",
            _ => "libdoca_common",
        };
        exported.entry(library).or_default().insert(name.clone());
    }
    let mut change = |library, name: &str, is_there: bool| {
        let of_library = exported.entry(library).or_default();
        assert!(if is_there {
            of_library.insert(name.to_owned())
        } else {
            of_library.remove(name)
        });
        symbols::differences(&declared, &exported)
    };
    assert_eq!(change("libdoca_common", "urom_libdoca_join", true), [""; 0], "that one is private");
    let lacking = "symbol doca_pe_create: declared, but libdoca_common lacks it";
    assert_eq!(change("libdoca_common", "doca_pe_create", false), [lacking]);
    let moved = "symbol doca_pe_create: exported by libdoca_urom, but libdoca_common has it";
    assert_eq!(change("libdoca_urom", "doca_pe_create", true), [lacking, moved]);
    let secret = "symbol doca_secret: exported by libdoca_argp, but not declared";
    assert_eq!(change("libdoca_argp", "doca_secret", true), [lacking, secret, moved]);
    let private = "symbol urom_libdoca_join: exported by libdoca_urom, but not declared";
    assert_eq!(
        change("libdoca_urom", "urom_libdoca_join", true),
        [lacking, secret, moved, private]
    );
}

#[test]
fn another_definition_of_the_variadic_function_is_found() {
    let headers = root().join(HEADERS);
    assert_eq!(variadic::difference(&root().join(variadic::SOURCE), &headers).expect("C"), None);
    let text = fs::read_to_string(root().join(variadic::SOURCE)).expect("text");
    let directory = tempfile::tempdir().expect("a temporary directory");
    let file = directory.path().join("changed.c");
    for (old, new) in [
        ("urom_doca_log(uint32_t level, int source", "urom_doca_log(uint32_t level, long source"),
        ("uint32_t urom_doca_log(", "uint64_t urom_doca_log("),
        ("const char *format,\n\t\t       ...)", "char *format, ...)"),
    ] {
        assert_eq!(text.matches(old).count(), 1, "`{old}`");
        fs::write(&file, text.replace(old, new)).expect("a file");
        let found = variadic::difference(&file, &headers).expect("C").expect("another signature");
        assert!(found.contains("changed.c defines it with another signature"), "{found}");
    }
    fs::write(&file, text.replace("va_end(args);", "va_end(args)")).expect("a file");
    let error = variadic::difference(&file, &headers).expect_err("no C").to_string();
    assert!(error.contains("changed.c does not compile:") && error.contains("expected"), "{error}");
}

/// A C library with three functions, one of them hidden, beside one that it only calls.
#[test]
fn the_symbols_of_a_library_are_those_it_defines_and_shows() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let (source, library) = (directory.path().join("a.c"), directory.path().join("a.so"));
    let text = "int doca_seen(void) { return 1; }\n\
        extern int doca_of_others(void);\n\
        int urom_seen(void) { return doca_of_others(); }\n\
        int another(void) { return 0; }\n\
        __attribute__((visibility(\"hidden\"))) int doca_hidden(void) { return 2; }\n";
    fs::write(&source, text).expect("a file");
    let status = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-nostdlib", "-o"])
        .args([&library, &source])
        .status()
        .expect("a C compiler: run `cargo xtask setup`");
    assert!(status.success());
    let found: Vec<_> = symbols::exported(&library).expect("a library").into_iter().collect();
    assert_eq!(found, ["doca_seen", "urom_seen"]);
    assert!(symbols::exported(&source).is_err(), "a text is no library");
}
