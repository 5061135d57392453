//! Drive DOCA UROM workers from a Rust host program.
