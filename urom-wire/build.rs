//! Lets this package's own tests find the UCX that they are linked with.

fn main() {
    ucx_probe::emit_rpath();
}
