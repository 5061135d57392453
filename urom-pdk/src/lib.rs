//! Write DOCA UROM worker plugins in Rust.
