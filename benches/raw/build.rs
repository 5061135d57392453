//! Adds the build-time path of UCX to the rpath of this package: for `bench-peer`, and the tests of
//! `bench-raw`.

fn main() {
    ucx_probe::emit_rpath();
}
