//! Compile-time behaviour of the macros: accepted code (`pass/`), errors (`fail/`), and behaviour
//! of the generated code with arbitrary bytes (`tests/`).
