//! Connections that any process may pass to a worker's listener.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::memory_handover, urom_wire::fuzzing::Counting);
