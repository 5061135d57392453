//! Any bytes in the place of control messages.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: urom_wire::fuzzing::Counting = urom_wire::fuzzing::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| urom_wire::fuzzing::control_messages(input));
