//! Changes of a UCX address, sealed as a real one is.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_service::fuzzing::Counting = urom_service::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| urom_service::fuzzing::ucx_address(input));
