//! Whole plugins with arbitrary worker programs.
#![no_main]

urom_fuzz::target!(robustness::targets::worker_cmd, robustness::CountingAllocator);
