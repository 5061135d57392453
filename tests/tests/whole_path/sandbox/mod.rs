//! The sandbox plugin: two workers of one domain, and commands of hosts.

pub(crate) mod host_memory;
pub(crate) mod hostile;
pub(crate) mod messages;
pub(crate) mod registered;

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sandbox_protocol::{Client, TagReceived, TagSent};
use urom_host::gather::InProcess;
use urom_host::{Data, Domain, Host, Received, Service, Worker, block_on_for};

use crate::provider::{Given, Provider, sandbox};

pub(crate) const LIMIT: Duration = Duration::from_secs(30);

pub(crate) const ALL: u64 = u64::MAX;

pub(crate) struct Pair {
    pub(crate) domain: Domain,
    pub(crate) workers: [Worker; 2],
    pub(crate) sandbox: Client<Host>,
    pub(crate) service: Service,
    /// Whether plugins are informed of cancelled commands.
    pub(crate) has_extension: bool,
}

impl Given<'_> for Pair {
    fn given(provider: &Provider) -> Result<Pair> {
        let service = provider.connect()?;
        let sandbox = sandbox(&service)?;
        let worker = || service.worker().plugin(&sandbox).max_inflight(128).start().wait();
        let workers = [worker()?, worker()?];
        let domain = join(&service, &workers)?;
        let has_extension = provider.has_extension();
        Ok(Pair { domain, workers, sandbox, service, has_extension })
    }
}

impl Pair {
    pub(crate) fn send<'a>(&self, tag: u64, data: impl Into<Data<'a>>) -> Result<TagSent> {
        let data: Data<'_> = data.into();
        done(self.sandbox.task_tag_send(&self.workers[0], 1, tag).data(data).submit())
    }

    pub(crate) fn receive(&self, count: u64, tag: u64) -> Result<TagReceived> {
        done(self.sandbox.task_tag_recv(&self.workers[1], count, tag, ALL).submit())
    }

    /// Waits until worker 1 has all earlier messages: messages between two workers keep their
    /// order.
    pub(crate) fn settle(&self) -> Result<()> {
        const TAG: u64 = 0xfe4c_e000_0000_0000;
        self.send(TAG, b"")?;
        self.receive(0, TAG)?;
        Ok(())
    }

    pub(crate) fn works(&self) -> Result<()> {
        const TAG: u64 = 0x00c0_ffee_0000_0000;
        assert_eq!(self.send(TAG, b"still here")?.status, 0);
        assert_eq!(inline(&self.receive(100, TAG)?), b"still here");
        Ok(())
    }
}

pub(crate) fn done<T>(
    task: urom_host::Result<impl Future<Output = urom_host::Result<T>>>,
) -> Result<T> {
    Ok(block_on_for(LIMIT, task?)??)
}

/// A domain of only these workers, with ids from 0.
pub(crate) fn join(service: &Service, workers: &[Worker]) -> Result<Domain> {
    let builder = service.domain().gather(InProcess::group(1).remove(0));
    let builder =
        (0..).zip(workers).fold(builder, |builder, (id, worker)| builder.worker(id, worker));
    Ok(block_on_for(LIMIT, builder.start())??)
}

pub(crate) fn inline(received: &TagReceived) -> &[u8] {
    match &received.data {
        Received::Inline(data) => data,
        Received::Registered { len } => panic!("{len} bytes in registered memory"),
    }
}

pub(crate) fn pattern(length: usize) -> Vec<u8> {
    (0..length).map(|at| (at % 251) as u8 ^ (at >> 8) as u8).collect()
}

/// Waits while calling `progress`.
pub(crate) fn wait_with<F: Future>(
    future: F,
    mut progress: impl FnMut() -> bool,
) -> Result<F::Output> {
    let (mut future, deadline) = (pin!(future), Instant::now() + LIMIT);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return Ok(output);
        }
        progress();
        ensure!(Instant::now() < deadline, "still waiting after {LIMIT:?}");
    }
}
