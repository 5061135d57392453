//! Figures, in the shape of the benchmark suite's, which holds them against the budgets.

use serde::Serialize;

/// One thing that was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Figure {
    /// What, from the general to the particular: `codec/tag-send-8`.
    name: String,
    unit: &'static str,
    value: f64,
    /// The same in C.
    peer: Peer,
    /// The value over the peer's.
    ratio: f64,
    note: &'static str,
}

/// What a figure is beside.
#[derive(Debug, Serialize)]
struct Peer {
    name: &'static str,
    value: f64,
}

impl Figure {
    /// Instructions here and in C.
    pub(crate) fn instructions(
        name: String,
        value: f64,
        (peer, in_c): (&'static str, f64),
        note: &'static str,
    ) -> Figure {
        let peer = Peer { name: peer, value: in_c };
        Figure { name, unit: "instructions", value, peer, ratio: value / in_c, note }
    }
}
