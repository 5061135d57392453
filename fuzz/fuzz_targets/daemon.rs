//! Messages of hosts and workers to a daemon.
#![no_main]

urom_fuzz::target!(urom_service::fuzzing::daemon, urom_wire::fuzzing::Counting);
