//! Whole plugins under programs of a worker.
#![no_main]

urom_fuzz::target!(robustness::targets::worker_cmd, robustness::CountingAllocator);
