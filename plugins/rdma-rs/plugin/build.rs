//! Sets the run-time path of UCX in the package's programs and libraries.

fn main() {
    ucx_probe::emit_rpath();
}
