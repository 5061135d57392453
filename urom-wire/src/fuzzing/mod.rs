//! The bodies of the fuzz targets, and code shared with service and library. Not part of the
//! crate's interface. A body runs the real receiving code on this thread, and panics when it finds
//! a fault: too much memory, a connection neither refused nor usable, a request without exactly one
//! answer.

mod control;
pub mod corpus;
mod domain;
pub mod frames;
mod handover;
mod hello;
pub mod memory;
pub mod program;
pub mod recent;
mod ring;
#[cfg(test)]
mod seeds;
pub mod sent;

use std::io;

use tokio::io::Join;
use tokio::runtime::{Builder, Runtime};

pub use control::control_messages;
pub use domain::domain_table;
pub use handover::memory_handover;
pub use hello::{hello, key_handshake};
pub use memory::Counting;
pub use ring::ring_cells;

pub type Body = fn(&[u8]);

pub const ALL: [(&str, Body); 6] = [
    ("control_messages", control_messages),
    ("domain_table", domain_table),
    ("handshake", key_handshake),
    ("hello", hello),
    ("memory_handover", memory_handover),
    ("ring_cells", ring_cells),
];

/// A stream whose peer has sent `theirs` and closed; writes are kept.
fn stream(theirs: &[u8]) -> Join<&[u8], Vec<u8>> {
    tokio::io::join(theirs, Vec::new())
}

fn prepare() {
    now(async {});
}

/// Runs a future of the control thread. Panics if it waits.
pub fn now<T>(future: impl Future<Output = T>) -> T {
    thread_local! {
        static RUNTIME: io::Result<Runtime> = Builder::new_current_thread().enable_all().build();
    }
    RUNTIME.with(|runtime| runtime.as_ref().expect("a runtime").block_on(future))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_hold_and_seeds_are_committed() {
        let seeds = vec![
            ("control_messages", seeds::of_control()),
            ("domain_table", seeds::of_domain()),
            ("handshake", seeds::of_handshake()),
            ("hello", seeds::of_hello()),
            ("memory_handover", seeds::of_handover()),
            ("ring_cells", seeds::of_ring()),
        ];
        corpus::check(&ALL, seeds);
    }
}
