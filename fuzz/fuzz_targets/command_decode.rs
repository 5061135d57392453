//! Any bytes in the place of a command.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| robustness::targets::command_decode(input));
