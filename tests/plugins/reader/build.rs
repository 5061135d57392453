//! Sets the run path of this plugin to the UCX of the build.

fn main() {
    ucx_probe::emit_rpath();
}
