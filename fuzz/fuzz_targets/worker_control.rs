//! Control messages of the daemon and hosts to a worker.
#![no_main]

urom_fuzz::target!(urom_service::fuzzing::worker_control, urom_wire::fuzzing::Counting);
