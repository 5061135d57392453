//! The protocol of a C program with this kit's macros: proof that the grammar carries any.
//!
//! Nothing here runs a plugin. What is wanted are the definitions, and the tests that compare every
//! byte of every message with what C lays down.

pub mod ucc;
