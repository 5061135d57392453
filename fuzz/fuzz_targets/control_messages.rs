//! Arbitrary bytes as control messages.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::control_messages, urom_wire::fuzzing::Counting);
