//! Memory requests of a worker, or of any other process, to a host.
#![no_main]

urom_fuzz::target!(libdoca_host::fuzzing::memory_questions, urom_wire::fuzzing::Counting);
