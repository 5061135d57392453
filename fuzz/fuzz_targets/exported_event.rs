//! Arbitrary bytes as an exported sync event.
#![no_main]

urom_fuzz::target!(robustness::targets::exported_event, robustness::CountingAllocator);
