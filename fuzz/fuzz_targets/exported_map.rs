//! Arbitrary bytes as an exported memory map.
#![no_main]

urom_fuzz::target!(robustness::targets::exported_map, robustness::CountingAllocator);
