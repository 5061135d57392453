//! A wire that changes what two ends greet each other with.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| urom_wire::fuzzing::greeting(input));
