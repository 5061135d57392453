//! `doca_log`, which is written in C, has the header's signature.

use std::path::Path;

use c_interface::agree;

fn compare(definition: &str) -> Result<(), String> {
    agree(&format!(
        "{definition}\n_Static_assert(_Generic(&urom_doca_log, __typeof__(&doca_log): 1, default: 0), \
         \"another signature\");\n"
    ))
}

#[test]
fn doca_log_is_what_the_header_declares() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("c/doca_log.c");
    let include = format!("#include \"{}\"", source.display());
    compare(&include).expect("the header declares another function");
    let other = "uint64_t urom_doca_log(uint32_t level, int source, const char *file, int line, \
                 const char *func, const char *format, ...);";
    let complaints = compare(other).expect_err("it returns 64 bits");
    assert!(complaints.contains("another signature"), "{complaints}");
}
