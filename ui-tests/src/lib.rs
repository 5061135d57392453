//! Compile-time behaviour of the macros: what they accept (`pass/`), what they refuse and in which
//! words (`fail/`), and what the code they make does with arbitrary bytes (`tests/`).
