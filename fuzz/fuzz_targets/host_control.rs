//! Control messages of a daemon and a worker to a host.
#![no_main]

urom_fuzz::target!(libdoca_host::fuzzing::host_control, urom_wire::fuzzing::Counting);
