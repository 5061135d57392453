//! Links with UCX, or fails with what was tried and what to install.

fn main() {
    ucx_probe::emit_link();
}
