//! What a worker may send to a host over UCX.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| libdoca_host::fuzzing::host_frames(input));
