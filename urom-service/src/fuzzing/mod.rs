//! The fuzz targets of daemon and worker: see [`urom_wire::fuzzing`].

#[cfg(test)]
mod seeds;

pub use urom_wire::fuzzing::Body;

pub use crate::daemon::fuzzing::daemon;
pub use crate::worker::control_thread::fuzzing::worker_control;
pub use crate::worker::data::fuzzing::worker_frames;
pub use crate::worker::memory::remote::fuzzing::memory_answers;

/// Every target of this crate, with its body.
pub const ALL: [(&str, Body); 4] = [
    ("daemon", daemon),
    ("memory_answers", memory_answers),
    ("worker_control", worker_control),
    ("worker_frames", worker_frames),
];

#[cfg(test)]
mod tests {
    use super::*;
    use urom_wire::fuzzing::corpus;

    #[test]
    fn inputs_hold_and_seeds_are_committed() {
        let seeds = vec![
            ("daemon", seeds::of_daemon()),
            ("memory_answers", crate::worker::memory::remote::fuzzing::seeds()),
            ("worker_control", seeds::of_worker_control()),
            ("worker_frames", seeds::of_worker_frames()),
        ];
        corpus::check(&ALL, seeds);
    }
}
