//! Answers of a host, or of any other process, to a worker's memory requests.
#![no_main]

urom_fuzz::target!(urom_service::fuzzing::memory_answers, urom_wire::fuzzing::Counting);
