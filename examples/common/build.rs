//! Sets the run path of an example to the UCX of the build. All examples have this build script.

fn main() {
    ucx_probe::emit_rpath();
}
