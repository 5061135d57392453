//! Lets every program and library of this package find UCX at run time where it was found at build
//! time.

fn main() {
    ucx_probe::emit_rpath();
}
