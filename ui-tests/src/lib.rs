//! Compile-time behaviour of the macros.
