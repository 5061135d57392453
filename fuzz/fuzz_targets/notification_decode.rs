//! Any bytes in the place of a notification.
#![no_main]

urom_fuzz::target!(robustness::targets::notification_decode, robustness::CountingAllocator);
