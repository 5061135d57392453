//! The fuzz targets of the host's side of its connections, and what daemon and workers send to it:
//! see [`urom_wire::fuzzing`].

mod control;
mod first;
mod frames;
mod peer;
#[cfg(test)]
mod seeds;

pub use urom_wire::fuzzing::Body;

pub use control::host_control;
pub use frames::host_frames;

/// Every target of this crate, and its body.
pub const ALL: [(&str, Body); 2] = [("host_control", host_control), ("host_frames", host_frames)];

#[cfg(test)]
mod tests {
    use super::*;
    use urom_wire::fuzzing::corpus;

    #[test]
    fn every_committed_input_holds() {
        corpus::every_input_holds(&ALL);
    }

    #[test]
    fn what_failed_after_others_is_replayed() {
        corpus::replay(&ALL);
    }

    #[test]
    fn seeds_are_committed() {
        corpus::seeds_are_committed(vec![
            ("host_control", seeds::of_host_control()),
            ("host_frames", seeds::of_host_frames()),
        ]);
    }
}
