//! Arbitrary bytes as a description.
#![no_main]

urom_fuzz::target!(robustness::targets::description_read, robustness::CountingAllocator);
