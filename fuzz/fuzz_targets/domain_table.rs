//! Arbitrary bytes as a domain's table.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::domain_table, urom_wire::fuzzing::Counting);
