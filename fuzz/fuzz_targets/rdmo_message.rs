//! Messages of initiators to the RDMO plugin.
#![no_main]

urom_fuzz::target!(robustness::targets::rdmo_message, robustness::CountingAllocator);
