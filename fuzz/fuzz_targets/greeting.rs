//! A wire that changes what two ends greet each other with.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::greeting, urom_wire::fuzzing::Counting);
