//! Any bytes in the place of a description.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| robustness::targets::description_read(input));
