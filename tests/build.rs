//! Sets the run path of this package's tests to the UCX of the build.

fn main() {
    ucx_probe::emit_rpath();
}
