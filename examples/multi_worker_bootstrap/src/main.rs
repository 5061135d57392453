//! Four workers in two groups, one loopback each.
fn main() {}
