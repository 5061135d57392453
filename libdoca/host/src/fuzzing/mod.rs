//! Fuzz targets of the host side: see [`urom_wire::fuzzing`].

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::relay::Message;

use crate::stream::Stream;

mod control;
mod frames;
#[cfg(test)]
mod seeds;

pub use urom_wire::fuzzing::Body;

pub use crate::memory_thread::answers::fuzzing::memory_questions;
pub use control::host_control;
pub use frames::host_frames;

pub(crate) fn until(what: &str, mut done: impl FnMut() -> bool) {
    let deadline = Instant::now() + PEER_TIMEOUT;
    while !done() {
        assert!(Instant::now() < deadline, "{what}");
    }
}

/// A stream with all of the peer's bytes, at [`loopback`].
fn stream<In, Out>(input: &[u8]) -> Stream<In, Out>
where
    In: Message + serde::de::DeserializeOwned + Send + 'static,
    Out: Message + serde::Serialize + Send + Sync + 'static,
{
    let input = std::io::Cursor::new(input.to_vec());
    Stream::carry(tokio::io::join(input, tokio::io::sink()), loopback(), PeerTimeout::default())
}

fn loopback() -> SocketAddr {
    ([127, 0, 0, 1], 5000).into()
}

/// Timeout of each step.
const PEER_TIMEOUT: Duration = Duration::from_secs(20);

/// All targets of this crate with their bodies.
pub const ALL: [(&str, Body); 3] = [
    ("host_control", host_control),
    ("host_frames", host_frames),
    ("memory_questions", memory_questions),
];

#[cfg(test)]
mod tests {
    use super::*;
    use urom_wire::fuzzing::corpus;

    #[test]
    fn inputs_hold_and_seeds_are_committed() {
        let seeds = vec![
            ("host_control", seeds::of_host_control()),
            ("host_frames", seeds::of_host_frames()),
            ("memory_questions", crate::memory_thread::answers::fuzzing::seeds()),
        ];
        corpus::check(&ALL, seeds);
    }
}
