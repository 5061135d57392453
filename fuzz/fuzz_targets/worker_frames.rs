//! Frames of hosts to a worker over UCX.
#![no_main]

urom_fuzz::target!(urom_service::fuzzing::worker_frames, urom_wire::fuzzing::Counting);
