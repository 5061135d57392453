//! Adds the build-time path of UCX to this plugin's rpath.

fn main() {
    ucx_probe::emit_rpath();
}
