//! Sets the run path of this package to the UCX of the build.

fn main() {
    ucx_probe::emit_rpath();
}
