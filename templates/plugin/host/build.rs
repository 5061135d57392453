//! Lets the programs of this package find the UCX of the build at run time.

fn main() {
    ucx_probe::emit_rpath();
}
