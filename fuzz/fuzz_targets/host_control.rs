//! What a daemon and a worker may say to a host.
#![no_main]

urom_fuzz::target!(libdoca_host::fuzzing::host_control, urom_wire::fuzzing::Counting);
