//! Arbitrary bytes as a notification.
#![no_main]

urom_fuzz::target!(robustness::targets::notification_decode, robustness::CountingAllocator);
