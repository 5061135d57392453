//! What a worker may send to a host over UCX.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_service::fuzzing::Counting = urom_service::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| urom_service::fuzzing::host_frames(input));
