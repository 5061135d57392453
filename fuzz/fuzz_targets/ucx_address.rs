//! Changes of a UCX address, sealed as a real one is.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::ucx_address, urom_wire::fuzzing::Counting);
