//! Measures appends of many sizes, with a flush when the queue is full.

use std::time::{Duration, Instant};

use anyhow::Result;
use rdmo_protocol::data::{Operation, Part};

use crate::client::Initiator;
use crate::side::SideChannel;

/// Size of the queue, including the pointer.
pub(crate) const QUEUE: usize = 4 << 20;

const SIZES: [usize; 6] = [64, 256, 1 << 10, 4 << 10, 16 << 10, 64 << 10];

/// Maximum of appends between two flushes.
const BATCH: usize = 1024;

const HEAD: [&str; 4] = ["bytes", "appends", "appends/s", "MB/s"];

pub(crate) fn measure(initiator: &Initiator, side: &SideChannel<'_>, time: u64) -> Result<String> {
    let time = Duration::from_millis(time);
    let mut rows = Vec::with_capacity(SIZES.len());
    for size in SIZES {
        let batch = BATCH.min((QUEUE - 8) / size);
        // Opens connections and warms caches.
        fill(initiator, side, size, batch)?;
        let (begin, mut appends) = (Instant::now(), 0);
        while appends == 0 || begin.elapsed() < time {
            fill(initiator, side, size, batch)?;
            appends += batch;
        }
        let rate = appends as f64 / begin.elapsed().as_secs_f64();
        let bandwidth = format!("{:.1}", rate * size as f64 / 1e6);
        rows.push([size.to_string(), appends.to_string(), format!("{rate:.0}"), bandwidth]);
    }
    Ok(example_common::render(HEAD, &rows))
}

/// Resets the pointer, appends `batch` times, and waits until the data is in the server's memory.
fn fill(initiator: &Initiator, side: &SideChannel<'_>, size: usize, batch: usize) -> Result<()> {
    let Initiator { rkey, queue, .. } = *initiator;
    let mut back = Vec::new();
    Part { address: queue, rkey, data: &(queue + 8).to_le_bytes() }.write(&mut back)?;
    initiator.request(false, Operation::Scatter { count: 1 }, back);
    for number in 0..batch {
        initiator.append(number == 0, vec![0x33; size]);
    }
    initiator.request(true, Operation::Flush { flush_id: 0 }, Vec::new());
    initiator.flushed(side)?;
    Ok(())
}
