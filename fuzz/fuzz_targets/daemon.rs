//! What hosts and workers may say to a daemon.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| urom_service::fuzzing::daemon(input));
