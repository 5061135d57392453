//! Adds the rpath of UCX to this package's tests.

fn main() {
    ucx_probe::emit_rpath();
}
