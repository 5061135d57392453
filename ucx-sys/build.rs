//! Finds UCX.
fn main() {}
