//! Compares [`library`](super)'s structures and constants with PMIx's headers (libpmix-dev).

use std::process::Command;

use c_interface::{Language, check};

use super::*;

#[test]
fn structures_and_constants_equal_those_of_pmix_headers() {
    let found = Command::new("pkg-config").args(["--variable=includedir", "pmix"]).output();
    let found = found.ok().filter(|found| found.status.success());
    let Some(found) = found else {
        assert!(std::env::var_os("CI").is_none(), "PMIx's headers (libpmix-dev) are missing");
        eprintln!("left out: the headers of PMIx are missing (libpmix-dev)");
        return;
    };
    let include = String::from_utf8(found.stdout).expect("a path");
    let numbers = [
        ("sizeof(pmix_proc_t)", size_of::<Proc>()),
        ("_Alignof(pmix_proc_t)", align_of::<Proc>()),
        ("offsetof(pmix_proc_t, rank)", offset_of!(Proc, rank)),
        ("sizeof(pmix_value_t)", size_of::<PmixValue>()),
        ("_Alignof(pmix_value_t)", align_of::<PmixValue>()),
        ("offsetof(pmix_value_t, data)", offset_of!(PmixValue, data)),
        ("sizeof(pmix_byte_object_t)", size_of::<PmixBytes>()),
        ("offsetof(pmix_byte_object_t, size)", offset_of!(PmixBytes, size)),
        ("sizeof(pmix_info_t)", size_of::<Info>()),
        ("offsetof(pmix_info_t, flags)", offset_of!(Info, flags)),
        ("offsetof(pmix_info_t, value)", offset_of!(Info, value)),
        ("sizeof(pmix_status_t)", size_of::<PmixStatus>()),
        ("sizeof(pmix_scope_t)", size_of_val(&GLOBAL)),
        ("sizeof(pmix_data_type_t)", size_of_val(&INT)),
        ("PMIX_MAX_KEYLEN + 1", KEY_SIZE),
        ("PMIX_RANK_WILDCARD", ALL_RANKS as usize),
        ("PMIX_INT", INT.into()),
        ("PMIX_UINT32", UINT32.into()),
        ("PMIX_BYTE_OBJECT", BYTES.into()),
        ("PMIX_GLOBAL", GLOBAL.into()),
    ];
    let codes = [
        ("PMIX_SUCCESS", PmixStatus::SUCCESS),
        ("PMIX_ERR_TIMEOUT", PmixStatus::TIMEOUT),
        ("PMIX_ERR_UNREACH", PmixStatus::UNREACHABLE),
        ("PMIX_ERR_NOT_FOUND", PmixStatus::NOT_FOUND),
    ];
    let numbers = numbers.map(|(name, number)| (name, number.to_string()));
    let codes = codes.map(|(name, status)| (name, status.0.to_string()));
    let texts = [("PMIX_TIMEOUT", TIMEOUT), ("PMIX_JOB_SIZE", JOB_SIZE)];
    let texts = texts.map(|(name, text)| {
        let text = text.to_str().expect("ASCII");
        (format!("__builtin_strcmp({name}, {text:?})"), "0".to_owned())
    });
    // The headers use GNU libc functions; string comparisons are constants only for the compiler.
    let head = "#define _GNU_SOURCE\n#pragma GCC diagnostic ignored \"-Wpedantic\"\n";
    let mut code = format!("{head}#include <stddef.h>\n#include <pmix.h>\n");
    let pairs = numbers.iter().chain(&codes).map(|(name, number)| (*name, number));
    for (name, number) in pairs.chain(texts.iter().map(|(name, number)| (&**name, number))) {
        code += &format!("_Static_assert({name} == {number}, {name:?});\n");
    }
    if let Err(complaints) = check(Language::C11, include.trim().as_ref(), &code) {
        panic!("PMIx's headers have other layouts or constants:\n{complaints}");
    }
}
