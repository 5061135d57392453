//! Links the library under DOCA's name, with `libdoca_common`.

fn main() {
    doca_link::library("doca_argp");
    // Those of src/run.rs.
    doca_link::needs_common(&[
        "doca_log_level_set_global_lower_limit",
        "doca_log_level_set_global_sdk_limit",
    ]);
}
