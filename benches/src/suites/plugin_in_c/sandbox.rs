//! The sandbox plugin in Rust against that in C: both in the same two workers of a domain, called by one host through the same
//! client. Bytes travel with the command, and the time is that of a send, from the host's call to its answer.

use std::time::Instant;

use anyhow::{Context, Result};
use sandbox_protocol::Client;
use urom_abi::protocol::Protocol;
use urom_host::{Host, Service};

use super::{Arguments, NAME, PEER};
use crate::cores::pin;
use crate::figure::Figure;
use crate::statistics::{alternate, median};
use crate::suites::in_c;
use crate::suites::inline::Pair;

const SIZES: [usize; 2] = [8, 4000];
/// How many batches come in a round before those that count, so that what the other side used is no longer in the caches; and how
/// many count at least, and at most.
const BEFORE: usize = 4;
const COUNT: [u128; 2] = [8, 100];

/// The host of one launch.
pub(super) fn measure(arguments: &Arguments) -> Result<Vec<Figure>> {
    let service = Service::builder().address(&arguments.address).connect()?;
    let in_rust = service.plugin::<sandbox_protocol::Protocol>()?;
    let of_c = service.plugin_named(in_c::SANDBOX)?;
    let in_c = <sandbox_protocol::Protocol as Protocol>::client::<Host>(of_c);
    let pair = Pair::start(
        &service,
        &[in_rust.plugin(), &of_c],
        [arguments.cores[1], arguments.receiver],
    )?;
    pin(arguments.cores[0]).context("cannot pin the host to its core")?;
    let mut figures = Vec::new();
    for size in SIZES {
        let start = Instant::now();
        let each = [&in_rust, &in_c].map(|client| round(&pair, client, size, 1));
        each.into_iter().collect::<Result<Vec<_>>>()?;
        let each = start.elapsed() / (2 * (BEFORE as u32 + 1));
        let count = (arguments.round.as_nanos() / each.as_nanos().max(1)).clamp(COUNT[0], COUNT[1])
            as usize;
        let rounds = alternate(
            arguments.rounds,
            || round(&pair, &in_rust, size, count),
            || round(&pair, &in_c, size, count),
        )?;
        let name = format!("{NAME}/sandbox-inline/{}/{size}", arguments.transport.name());
        let note = "each plugin has a UCX of its own: that in Rust with the kit's settings, that in C as UCX comes";
        let figure =
            Figure::in_turns(name, "ns", PEER, &rounds).context("no round was measured")?;
        figures.push(figure.note(note));
    }
    Ok(figures)
}

/// The median of a round's sends, in nanoseconds.
fn round(pair: &Pair, client: &Client<Host>, size: usize, count: usize) -> Result<f64> {
    let mut times = Vec::new();
    for count in [BEFORE, count] {
        times.clear();
        (0..count).try_for_each(|_| pair.batch(client, size, &mut times))?;
    }
    median(&times).context("no message was sent")
}
