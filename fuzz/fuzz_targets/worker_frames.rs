//! What hosts may send to a worker over UCX.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| urom_service::fuzzing::worker_frames(input));
