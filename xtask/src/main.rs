//! Set-up, tests and the demo: cargo xtask help.
fn main() {}
