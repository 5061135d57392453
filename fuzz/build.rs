//! Lets the fuzz targets find UCX when they run.

fn main() {
    ucx_probe::emit_rpath();
}
