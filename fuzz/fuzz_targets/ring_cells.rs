//! A ring whose other side writes arbitrary bytes.
#![no_main]

urom_fuzz::target!(urom_wire::fuzzing::ring_cells, urom_wire::fuzzing::Counting);
