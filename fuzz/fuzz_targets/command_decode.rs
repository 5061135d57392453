//! Arbitrary bytes as a command.
#![no_main]

urom_fuzz::target!(robustness::targets::command_decode, robustness::CountingAllocator);
