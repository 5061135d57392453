//! Sets the rpath to UCX for this package's tests.

fn main() {
    ucx_probe::emit_rpath();
}
