//! Any bytes in the place of a notification.
#![no_main]

// Memory is limited.
#[global_allocator]
static ALLOCATOR: robustness::memory::Counting = robustness::memory::Counting;

libfuzzer_sys::fuzz_target!(|input: &[u8]| robustness::targets::notification_decode(input));
