//! Links the library under DOCA's name, with `libdoca_common`.

fn main() {
    doca_link::library("doca_argp");
    doca_link::needs_common();
}
