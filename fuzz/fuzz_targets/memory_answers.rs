//! What a host, or anybody, may answer to a worker that asks about memory.
#![no_main]

urom_fuzz::target!(urom_service::fuzzing::memory_answers, urom_wire::fuzzing::Counting);
