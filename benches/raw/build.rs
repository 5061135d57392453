//! Adds the build-time path of UCX to the rpath of this package's tests.

fn main() {
    ucx_probe::emit_rpath();
}
