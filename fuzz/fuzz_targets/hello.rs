//! Arbitrary bytes as a hello.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::hello, urom_wire::fuzzing::Counting);
