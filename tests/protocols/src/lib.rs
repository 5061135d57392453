//! The protocol of a C program with this kit's macros, to prove that the macros can express it.
//!
//! This crate contains only definitions; its tests compare every byte of every message with the C
//! layout.

pub mod ucc;
