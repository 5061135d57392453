//! A member of the group: a process with its worker and buffers.

use std::cell::RefCell;
use std::rc::Rc;
use std::thread;
use std::time::Instant;

use allreduce_protocol::{Client, Element, Operation, Protocol, Reduced};
use anyhow::{Context, Result, ensure};
use example_common::Common;
use urom_host::gather::AllGather;
use urom_host::memory::{Access, MemoryShare, Mmap, Share};
use urom_host::{Completion, Domain, Host, Service, Worker, block_on_for};

use crate::LIMIT;

/// Size of the longest buffer, in bytes.
pub(crate) const LONGEST: usize = 16 << 20;

pub(crate) struct Member {
    pub(crate) rank: u32,
    pub(crate) size: u32,
    pub(crate) send: Mmap,
    pub(crate) recv: Mmap,
    gather: Rc<RefCell<dyn AllGather>>,
    plugin: Client<Host>,
    handle: u64,
    _shares: [MemoryShare; 2],
    domain: Domain,
    worker: Worker,
    _service: Service,
}

impl Member {
    pub(crate) fn start(common: &Common, gather: impl AllGather + 'static) -> Result<Member> {
        let (rank, size) = (gather.index(), gather.participants());
        let gather: Rc<RefCell<dyn AllGather>> = Rc::new(RefCell::new(gather));
        let service = common.service().connect_blocking()?;
        let plugin = service.plugin::<Protocol>()?;
        let worker = common.worker_log(service.worker().id(rank.into()).plugin(&plugin));
        let worker = block_on_for(LIMIT, worker.start())?.context("the worker did not start")?;
        let domain = service.domain().worker(rank.into(), &worker).gather(Rc::clone(&gather));
        let domain = block_on_for(LIMIT, domain.start())?.context("the domain did not start")?;

        let access = Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE;
        let [send, recv] = [Mmap::allocate(LONGEST, access)?, Mmap::allocate(LONGEST, access)?];
        let shares = [send.share(&worker).wait()?, recv.share(&worker).wait()?];

        // A common random number, different from all other groups.
        let numbers = exchange(&gather, &fastrand::u64(..).to_le_bytes())?;
        let group = u64::from_le_bytes(numbers[..8].try_into()?);
        let join = plugin.task_join(&worker, group, rank, size, send.range(), recv.range());
        let handle = join.submit()?.wait()?.handle;
        let (_shares, _service) = (shares, service);
        Ok(Member {
            rank,
            size,
            send,
            recv,
            gather,
            plugin,
            handle,
            _shares,
            domain,
            worker,
            _service,
        })
    }

    pub(crate) fn reduce(&self, count: u64) -> Result<Completion<Reduced>> {
        let (handle, sum) = (self.handle, Operation::Sum);
        let task = self.plugin.task_reduce(&self.worker, handle, count, Element::F32, sum);
        Ok(task.submit()?)
    }

    pub(crate) fn check(&self) -> Result<()> {
        for count in [1, 1000, 1 << 20] {
            let own: Vec<u8> =
                (0..count).flat_map(|at| ((at % 251 + self.rank) as f32).to_le_bytes()).collect();
            self.send.view().copy_from(0, &own)?;
            self.meet()?;
            self.reduce(count.into())?.wait()?;
            let mut result = vec![0; own.len()];
            self.recv.view().copy_to(0, &mut result)?;
            let ranks = (0..self.size).sum::<u32>();
            for (at, word) in (0..count).zip(result.as_chunks::<4>().0) {
                let wanted = (at % 251 * self.size + ranks) as f32;
                let found = f32::from_le_bytes(*word);
                ensure!(found == wanted, "element {at} of {count} is {found}, not {wanted}");
            }
        }
        Ok(())
    }

    pub(crate) fn meet(&self) -> Result<()> {
        exchange(&self.gather, &[0]).map(drop)
    }

    /// Returns the maximum over all members.
    pub(crate) fn largest(&self, own: f64) -> Result<f64> {
        let all = exchange(&self.gather, &own.to_le_bytes())?;
        Ok(all.as_chunks().0.iter().map(|word| f64::from_le_bytes(*word)).fold(0.0, f64::max))
    }

    pub(crate) fn stop(self) -> Result<()> {
        self.meet()?;
        self.domain.stop_blocking()?;
        Ok(block_on_for(LIMIT, self.worker.stop())??)
    }
}

fn exchange(gather: &Rc<RefCell<dyn AllGather>>, own: &[u8]) -> Result<Vec<u8>> {
    let (mut gather, begin) = (gather.borrow_mut(), Instant::now());
    let lost = |error| anyhow::anyhow!("a member is lost: {error}");
    gather.begin(own).map_err(lost)?;
    let mut all = vec![0; own.len() * gather.participants() as usize];
    while !gather.test(&mut all).map_err(lost)? {
        ensure!(begin.elapsed() < LIMIT, "a member is silent for {} s", LIMIT.as_secs());
        thread::yield_now();
    }
    Ok(all)
}
