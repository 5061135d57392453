//! Any bytes in the place of a description.
#![no_main]

urom_fuzz::target!(robustness::targets::description_read, robustness::CountingAllocator);
