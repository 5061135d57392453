//! Everything that is measured.

use std::ffi::OsString;

use anyhow::Result;

use crate::figure::Figure;
use crate::{callgrind, message, plugin};

/// How many messages a run writes or reads.
const COUNT: usize = 10_000;

/// All figures.
///
/// # Errors
/// When something cannot be measured: see [`callgrind::per_round`].
pub(crate) fn run() -> Result<Vec<Figure>> {
    let mut figures = Vec::new();
    let of = |name: &str, direction: &str, side: &str| -> Result<f64> {
        callgrind::per_round(&["message", name, direction, side].map(OsString::from), COUNT)
    };
    // The loop is the same for all.
    let nothing = of("loopback", "encode", "nothing")?;
    for name in message::names() {
        let mut sums = (0.0, 0.0);
        for direction in ["encode", "decode"] {
            let (value, in_c) =
                (of(name, direction, "rust")? - nothing, of(name, direction, "c")? - nothing);
            sums = (sums.0 + value, sums.1 + in_c);
            figures.push(Figure::instructions(
                format!("codec-{direction}/{name}"),
                value,
                (PEER, in_c),
                "without the loop",
            ));
        }
        let (value, in_c) = sums;
        figures.push(Figure::instructions(
            format!("codec/{name}"),
            value,
            (PEER, in_c),
            "encode and decode together, without the loop",
        ));
    }
    figures.extend(plugin::figures()?);
    Ok(figures)
}

const PEER: &str = "packed by hand in C, with memcpy";
