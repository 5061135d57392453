//! Compares the functions and constants with `doca_argp.h`.

use c_interface::{agree, assert_functions, c_types, equal, functions};

use crate::argp::logger::VaList;
use crate::argp::model::ParamType;
use crate::argp::*;

c_types! {
    Param = "struct doca_argp_param",
    Cmd = "struct doca_argp_cmd",
    VaList = "va_list",
}

#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "C's char and uint8_t are both Rust's u8")]
fn the_functions_match_the_header() {
    let functions = functions![
        doca_argp_init(_, _) -> _,
        doca_argp_destroy() -> _,
        doca_argp_param_create(_) -> _,
        doca_argp_param_set_short_name(_, _),
        doca_argp_param_set_long_name(_, _),
        doca_argp_param_set_arguments(_, _),
        doca_argp_param_set_description(_, _),
        doca_argp_param_set_callback(_, _),
        doca_argp_param_set_type(_, _),
        doca_argp_param_set_mandatory(_),
        doca_argp_param_set_cli_only(_),
        doca_argp_param_set_multiplicity(_),
        doca_argp_param_set_singular(_),
        doca_argp_param_set_inherited(_),
        doca_argp_param_set_hidden(_),
        doca_argp_param_destroy(_) -> _,
        doca_argp_register_param(_) -> _,
        doca_argp_cmd_create(_) -> _,
        doca_argp_cmd_set_name(_, _),
        doca_argp_cmd_set_description(_, _),
        doca_argp_cmd_set_callback(_, _),
        doca_argp_cmd_set_hidden(_),
        doca_argp_cmd_register_param(_, _) -> _,
        doca_argp_cmd_register_cmd(_, _) -> _,
        doca_argp_cmd_destroy(_) -> _,
        doca_argp_register_cmd(_) -> _,
        doca_argp_register_version_callback(_) -> _,
        doca_argp_register_validation_callback(_) -> _,
        doca_argp_register_logger_callback(_) -> _,
        doca_argp_disable_logger_callback() -> _,
        doca_argp_set_dpdk_program(_),
        doca_argp_usage(),
        doca_argp_get_log_level(_) -> _,
        doca_argp_get_sdk_log_level(_) -> _,
        doca_argp_start(_, _) -> _,
    ];
    assert_functions(&functions, |name| name.starts_with("doca_argp_"));
}

#[test]
fn the_types_of_parameters_have_the_headers_numbers() {
    let types = [
        ("UNKNOWN", model::UNKNOWN),
        ("STRING", model::STRING),
        ("INT", model::INT),
        ("BOOLEAN", model::BOOLEAN),
        ("JSON_OBJ", model::JSON_OBJ),
    ];
    let types = types.map(|(name, number)| equal(&format!("DOCA_ARGP_TYPE_{name}"), number.into()));
    let unsigned = equal("((enum doca_argp_type)-1 > 0)", 1);
    let size = equal("sizeof(enum doca_argp_type)", size_of::<ParamType>() as u64);
    agree(&(types.concat() + &unsigned + &size)).expect("the header has other numbers");
}
