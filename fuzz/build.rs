//! The targets of the service load UCX.

fn main() {
    ucx_probe::emit_rpath();
}
