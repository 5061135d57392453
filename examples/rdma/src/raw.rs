//! The same operations with raw UCX: puts, gets and tagged messages between the two processes.

use std::collections::VecDeque;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Result;
use ucx::{Context, Endpoint, Features, Memory, RemoteMemory, Worker, WorkerAddress};

use crate::other::Other;
use crate::perf::Operation;

const TAG: u64 = 7;

pub(crate) struct Raw {
    worker: Worker,
    endpoint: Rc<Endpoint>,
    memory: Memory,
    remote: RemoteMemory,
}

impl Raw {
    pub(crate) fn connect(other: &Other, len: usize) -> Result<Raw> {
        let context = Context::new(Features::TAG | Features::RMA)?;
        let (worker, memory) = (context.worker()?, Memory::allocate(&context, len)?);
        let address = other.swap(worker.address()?.as_bytes())?;
        // SAFETY: the address is from the other process, which runs this program.
        let address = unsafe { WorkerAddress::from_bytes(&address) }?;
        let endpoint = worker.endpoint().error_mode(ucx::ErrorMode::None).connect(&address)?;
        let endpoint = Rc::new(endpoint);
        let key = other.swap(&memory.remote_key()?)?;
        let start = other.swap(&memory.address().to_le_bytes())?;
        let start =
            u64::from_le_bytes(start.try_into().map_err(|_| anyhow::anyhow!("no address"))?);
        // SAFETY: the other process has registered this memory, and keeps it until its end.
        let remote = unsafe { endpoint.remote_memory(&key, start, len as u64) }?;
        Ok(Raw { worker, endpoint, memory, remote })
    }

    /// Progresses UCX until the other process has measured, and receives messages of this size.
    pub(crate) fn serve(&self, other: &Other, operation: Operation, size: u64) -> Result<()> {
        let mut receives = VecDeque::new();
        let receive = || -> Result<_> {
            let buffer =
                self.memory.try_borrow_mut(0..size as usize).expect("the memory has so many bytes");
            Ok(self.worker.tag_recv(TAG, u64::MAX, buffer))
        };
        other.meet_while(|| {
            let began = Instant::now();
            while began.elapsed() < Duration::from_millis(5) {
                if operation == Operation::Send {
                    if receives.is_empty() {
                        receives.push_back(receive()?);
                    }
                    while receives.front().is_some_and(|receive| receive.is_done()) {
                        receives.pop_front();
                    }
                }
                self.worker.progress();
            }
            Ok(())
        })
    }

    /// Runs `count` operations of a size, and waits for remote completion.
    pub(crate) fn batch(&self, operation: Operation, size: u64, count: u64) -> Result<Duration> {
        let part =
            || self.memory.try_borrow(0..size as usize).expect("the memory has so many bytes");
        let began = Instant::now();
        for _ in 0..count {
            match operation {
                Operation::Write => self.remote.put(0, part()).detach(),
                Operation::Read => {
                    let buffer = self.memory.try_borrow_mut(0..size as usize);
                    let buffer = buffer.expect("the memory has so many bytes");
                    self.remote.get(0, buffer).wait().0?;
                }
                Operation::Send => self.endpoint.tag_send(TAG, part()).wait().0?,
            }
        }
        if operation == Operation::Write {
            self.endpoint.flush().wait().0?;
        }
        Ok(began.elapsed())
    }
}
