//! Whole plugins under programs of a worker.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| robustness::targets::worker_cmd(input));
