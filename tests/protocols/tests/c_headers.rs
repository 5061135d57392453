//! The C headers of these protocols: compilers place every member as the C programs do.

use std::path::Path;

use c_interface::Language;
use test_protocols::{rdmo, ucc};
use urom_abi::describe::{Protocol, c_header};
use urom_abi::protocol::Protocol as _;

/// Asserts, behind the header, the size of each structure and the offset of each member.
#[track_caller]
fn holds(protocol: &Protocol, sizes: &[(&str, usize)], offsets: &[(&str, &str, usize)]) {
    let header = c_header(protocol);
    let mut code =
        format!("{header}\n#ifndef __cplusplus\n#define static_assert _Static_assert\n#endif\n");
    for (name, size) in sizes {
        code += &format!("static_assert(sizeof(struct {name}) == {size}, \"{name}\");\n");
    }
    for (name, member, offset) in offsets {
        code += &format!(
            "static_assert(offsetof(struct {name}, {member}) == {offset}, \"{member}\");\n"
        );
    }
    for &language in Language::ALL {
        if let Err(complaints) = c_interface::check(language, Path::new("."), &code) {
            panic!("{language:?}:\n{complaints}\n{header}");
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "compilers are other processes")]
fn rdmo() {
    const COMMAND: &str = "worker_rdmo_command";
    const NOTIFICATION: &str = "worker_rdmo_notification";
    holds(
        rdmo::Protocol::DESCRIPTION,
        &[(COMMAND, 56), (NOTIFICATION, 24)],
        &[
            (COMMAND, "type", 0),
            (COMMAND, "client_init.id", 8),
            (COMMAND, "client_init.addr_addr", 16),
            (COMMAND, "client_init.addr_len", 24),
            (COMMAND, "rq_create.addr_addr", 8),
            (COMMAND, "rq_create.addr_len", 16),
            (COMMAND, "rq_destroy.rq_id", 8),
            (COMMAND, "mr_reg.va", 8),
            (COMMAND, "mr_reg.len", 16),
            (COMMAND, "mr_reg.packed_rkey_addr", 24),
            (COMMAND, "mr_reg.packed_rkey_len", 32),
            (COMMAND, "mr_reg.packed_memh_addr", 40),
            (COMMAND, "mr_reg.packed_memh_len", 48),
            (COMMAND, "mr_dereg.rkey", 8),
            (NOTIFICATION, "client_initialized.addr_addr", 8),
            (NOTIFICATION, "client_initialized.addr_len", 16),
            (NOTIFICATION, "rq_created.rq_id", 8),
            (NOTIFICATION, "rq_destroyed.rq_id", 8),
            (NOTIFICATION, "mr_registered.rkey", 8),
            (NOTIFICATION, "mr_deregistered.rkey", 8),
        ],
    );
}

#[test]
#[cfg_attr(miri, ignore = "compilers are other processes")]
fn ucc() {
    const COMMAND: &str = "libucc_doca_urom_plugin_command";
    const NOTIFICATION: &str = "libucc_doca_urom_plugin_notification";
    const ARGS: &str = "libucc_doca_urom_plugin_coll_args";
    holds(
        ucc::Protocol::DESCRIPTION,
        &[
            (COMMAND, 64),
            (NOTIFICATION, 24),
            (ARGS, 200),
            ("libucc_doca_urom_plugin_lib_params", 40),
        ],
        &[
            (COMMAND, "type", 0),
            (COMMAND, "dpu_worker_id", 8),
            (COMMAND, "lib_create.params_addr", 16),
            (COMMAND, "context_create.start", 16),
            (COMMAND, "context_create.stride", 24),
            (COMMAND, "context_create.size", 32),
            (COMMAND, "context_create.base_va", 40),
            (COMMAND, "context_create.len", 48),
            (COMMAND, "context_destroy.context", 16),
            (COMMAND, "team_create.context", 40),
            (COMMAND, "coll.coll_args_addr", 16),
            (COMMAND, "coll.team", 24),
            (COMMAND, "coll.use_xgvmi", 32),
            (COMMAND, "coll.work_buffer_addr", 40),
            (COMMAND, "coll.work_buffer_len", 48),
            (COMMAND, "coll.team_size", 56),
            (COMMAND, "create_passive_data_channel.ucp_addr_addr", 16),
            (COMMAND, "create_passive_data_channel.ucp_addr_len", 24),
            (NOTIFICATION, "dpu_worker_id", 8),
            (NOTIFICATION, "context_created.context", 16),
            (NOTIFICATION, "team_created.team", 16),
            (NOTIFICATION, "coll_done.status", 16),
            (NOTIFICATION, "channel_created.status", 16),
            (ARGS, "coll_type", 8),
            (ARGS, "source", 16),
            (ARGS, "destination", 56),
            (ARGS, "op", 96),
            (ARGS, "flags", 104),
            (ARGS, "root", 112),
            (ARGS, "error_type", 120),
            (ARGS, "tag", 124),
            (ARGS, "global_work_buffer", 128),
            (ARGS, "callback", 136),
            (ARGS, "timeout", 152),
            (ARGS, "active_set", 160),
        ],
    );
    let header = c_header(ucc::Protocol::DESCRIPTION);
    let payloads = [
        "1. `coll_args`: 1 element of `struct libucc_doca_urom_plugin_coll_args`; their address word is `coll_args_addr`.",
        "2. `work_buffer`: `work_buffer_len` bytes; their address word is `work_buffer_addr`.",
        "3. `source_counts`: `array(coll_args, team_size, COUNT_64BIT)` bytes if `carries_counts(coll_args)`, else none.",
    ];
    for payload in payloads {
        assert!(header.contains(payload), "{payload} is not in\n{header}");
    }
}
