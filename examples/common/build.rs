//! Sets the run path of this package's programs to the UCX of the build.

fn main() {
    ucx_probe::emit_rpath();
}
