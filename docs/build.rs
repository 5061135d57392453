//! Lets this package's tests find the UCX of the build at run time.

fn main() {
    ucx_probe::emit_rpath();
}
