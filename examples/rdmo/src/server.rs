//! The server: a host program whose memory the client changes.

use std::future::{Future, poll_fn};
use std::pin::pin;

use anyhow::{Context, Result, ensure};
use rdmo_protocol::Protocol as Rdmo;
use tracing::warn;
use ucx::Worker;
use urom_host::{ProgressEngine, block_on_for};

use crate::options::Options;
use crate::queue::Queue;
use crate::side::SideChannel;
use crate::{BYTES, LIMIT, PARTS, perf, ucx_worker};

/// Size of the queue, including the pointer.
pub(crate) const QUEUE: usize = 128 << 10;

pub(crate) const ADVICE: &str =
    "the server's memory cannot be shared with the plugin: start the server with --registered";

const POINTER: u64 = 8;

pub(crate) fn run(options: &Options) -> Result<()> {
    let service = options.common.service().max_workers(2).connect_blocking()?;
    let rdmo = service.plugin::<Rdmo>()?;
    let engine = ProgressEngine::with_library(service.library())?;
    let worker = service.worker().engine(&engine).max_inflight(16).plugin(&rdmo);
    let worker = options.common.worker_log(worker);
    let worker = block_on_for(LIMIT, worker.start())?.context("the worker did not start")?;

    let ucx = ucx_worker()?;
    println!("Created server UCP Worker");
    let address = ucx.address()?;
    let address = address.raw_bytes();
    let client = drive(&ucx, rdmo.task_client_init(&worker, 0, address).submit()?)?;
    // The reply's payload borrows the worker's task.
    let dev = client.addr.to_vec();
    drop(client);
    let (host_len, dev_len) = (address.len(), dev.len());
    println!("Initialized RDMO client (host addr len: {host_len}, dev addr len: {dev_len})");

    let mut side = SideChannel::accept(options.port, &ucx)?;
    let initiator = side.exchange(&dev)?;
    println!("Server received remote data, length: {}", initiator.len());
    println!("Received host addr (len: {})", initiator.len());
    let rq_id = drive(&ucx, rdmo.task_rq_create(&worker, &initiator).submit()?)?.rq_id;
    println!("Created RQ: {rq_id}");

    let len = if options.perf { perf::QUEUE } else { QUEUE };
    let register = |queue: &Queue| -> Result<u64> {
        queue.set(0, queue.address() + POINTER);
        let (packed_rkey, packed_memh) = queue.packed()?;
        let (at, len) = (queue.address(), len as u64);
        let task = rdmo.task_mr_reg(&worker, at, len, &packed_rkey, &packed_memh);
        Ok(drive(&ucx, task.submit()?)?.rkey)
    };
    let mut queue = Queue::new(len, &worker, &ucx, options.registered)?;
    let mut registered = register(&queue);
    if let (Err(error), true) = (&registered, queue.is_shared()) {
        // A plugin with only DOCA's interface cannot access shared memory.
        warn!(
            "the plugin cannot use shared memory, so it is registered, as by --registered: {error:#}"
        );
        queue.end().context(ADVICE)?;
        queue = Queue::new(len, &worker, &ucx, true)?;
        registered = register(&queue);
    }
    let (rkey, at) = (registered?, queue.address());
    println!("Allocated rkey: {rkey}");
    side.exchange(&[rkey, at].map(u64::to_ne_bytes).concat())?;
    println!("Sent rkey {rkey} and queue pointer {at:#x}");

    let pointer = at + POINTER + BYTES.len() as u64;
    side.until("nothing was appended", || (queue.get(0) == pointer).then_some(()))?;
    let bytes = u64::from_ne_bytes(BYTES);
    ensure!(queue.get(POINTER) == bytes, "other bytes were appended");
    println!("Append operation was finished successfully");

    let words = || (0..PARTS as u64).map(|part| part * BYTES.len() as u64);
    words().for_each(|at| queue.set(at, 0));
    side.exchange(&[])?;
    let last = (PARTS - 1) as u64 * BYTES.len() as u64;
    side.until("nothing was scattered", || (queue.get(last) == bytes).then_some(()))?;
    ensure!(words().all(|at| queue.get(at) == bytes), "other bytes were scattered");
    println!("Scatter operation was finished successfully");
    if options.perf {
        // The measurement overwrites the checked memory.
        side.exchange(&[])?;
    }

    // After the client's end, because its last flush or measurement may still run.
    side.ended()?;
    drive(&ucx, rdmo.task_mr_dereg(&worker, rkey).submit()?)?;
    queue.end()?;
    println!("Deallocated rkey: {rkey}");
    drive(&ucx, rdmo.task_rq_destroy(&worker, rq_id).submit()?)?;
    println!("Destroyed RQ for ID: {rq_id}");
    block_on_for(LIMIT, worker.stop())??;
    Ok(())
}

/// Waits for an answer, and progresses UCX for the plugin's accesses to registered memory.
fn drive<T>(ucx: &Worker, answer: impl Future<Output = urom_host::Result<T>>) -> Result<T> {
    let mut answer = pin!(answer);
    let poll = poll_fn(|cx| {
        ucx.progress();
        cx.waker().wake_by_ref();
        answer.as_mut().poll(cx)
    });
    Ok(block_on_for(LIMIT, poll)??)
}
