//! Sends of the sandbox plugin whose bytes travel with the command, from one worker of a domain to
//! another, in batches: the receives of a batch are started before its sends.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use sandbox_protocol::{Client, TagReceived};
use urom_host::gather::InProcess;
use urom_host::{Completion, Domain, Host, Received, Service, Worker, block_on};

/// The messages that are sent one after the other while their receiver need not run: UCX has room
/// for that many between two processes.
pub(super) const BATCH: usize = 16;
pub(super) const TAG: u64 = 9;
/// As long as the longest message.
static DATA: [u8; 4096] = [0x5a; 4096];
/// The receiver's number in the domain.
const RECEIVER: u64 = 1;

pub(super) struct Pair {
    // Stopped before the workers.
    _domain: Domain,
    pub(super) sender: Worker,
    pub(super) receiver: Worker,
}

impl Pair {
    /// Joins both into a domain.
    pub(super) fn of(service: &Service, sender: Worker, receiver: Worker) -> Result<Pair> {
        let gather = InProcess::group(1).pop().context("a group of one has a member")?;
        let domain = service.domain().gather(gather).worker(0, &sender).worker(RECEIVER, &receiver);
        Ok(Pair { _domain: block_on(domain.start())?, sender, receiver })
    }

    /// Sends a batch. Adds the nanoseconds of each send, from the host's call to its answer.
    pub(super) fn batch(
        &self,
        sandbox: &Client<Host>,
        size: usize,
        times: &mut Vec<f64>,
    ) -> Result<()> {
        let mut receives = Vec::new();
        self.receives(sandbox, size, &mut receives)?;
        for _ in 0..BATCH {
            let start = Instant::now();
            self.send(sandbox, size)?;
            times.push(start.elapsed().as_nanos() as f64);
        }
        collect(&mut receives, size)
    }

    /// Starts the receives of a batch, and adds them.
    pub(super) fn receives(
        &self,
        sandbox: &Client<Host>,
        size: usize,
        receives: &mut Vec<Completion<TagReceived>>,
    ) -> Result<()> {
        for _ in 0..BATCH {
            receives
                .push(sandbox.task_tag_recv(&self.receiver, size as u64, TAG, u64::MAX).submit()?);
        }
        Ok(())
    }

    /// Sends a message, and waits for the answer.
    #[inline]
    pub(super) fn send(&self, sandbox: &Client<Host>, size: usize) -> Result<()> {
        let sent = sandbox
            .task_tag_send(&self.sender, RECEIVER, TAG)
            .data(&DATA[..size])
            .submit()?
            .wait()?;
        ensure!(sent.status == 0, "a send ended with UCX status {}", sent.status);
        Ok(())
    }
}

/// Waits for the answers of a batch's receives, and removes them.
pub(super) fn collect(receives: &mut Vec<Completion<TagReceived>>, size: usize) -> Result<()> {
    for receive in receives.drain(..) {
        let received = receive.wait()?;
        ensure!(
            matches!(&received.data, Received::Inline(bytes) if bytes.len() == size),
            "received something else than {size} bytes, with UCX status {}",
            received.status
        );
    }
    Ok(())
}
