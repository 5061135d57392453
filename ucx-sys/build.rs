//! Links with UCX, or fails with the searched paths and the packages to install.

fn main() {
    ucx_probe::emit_link();
}
