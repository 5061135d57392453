//! What a worker, or anybody, may ask a host about memory.
#![no_main]

urom_fuzz::target!(libdoca_host::fuzzing::memory_questions, urom_wire::fuzzing::Counting);
