//! Frames of a worker to a host over UCX.
#![no_main]

urom_fuzz::target!(libdoca_host::fuzzing::host_frames, urom_wire::fuzzing::Counting);
