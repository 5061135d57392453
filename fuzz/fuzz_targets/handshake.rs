//! A connection that alters the handshake messages of both ends.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::key_handshake, urom_wire::fuzzing::Counting);
