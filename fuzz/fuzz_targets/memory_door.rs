//! What somebody may hand over at a worker's door.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::memory_door, urom_wire::fuzzing::Counting);
