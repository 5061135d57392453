//! Any bytes in the place of a notification.
#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| robustness::targets::notification_decode(input));
