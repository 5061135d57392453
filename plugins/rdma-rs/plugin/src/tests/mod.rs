//! The plugin under the test kit: workers of one domain, connected by UCX within this process.

mod hostile;
mod memory;
mod model;
mod operations;
mod order;
mod peers;
mod permissions;
mod states;

use std::ops::Deref;
use std::time::{Duration, Instant};

use rdma_protocol::*;
use ucx::test_queues::this_program;
use urom_pdk::DocaError;
use urom_pdk::memory::MemoryPath;
use urom_pdk::test_util::{Domain, Sent, SharedMemory, Worker};

use super::RdmaPlugin;

const DEADLINE: Duration = Duration::from_secs(30);

const LOCAL: Access = Access::LOCAL_READ_WRITE.union(Access::PCI_READ_WRITE);

const ALL: Access =
    LOCAL.union(Access::RDMA_READ).union(Access::RDMA_WRITE).union(Access::RDMA_ATOMIC);

const PATHS: [MemoryPath; 3] = [MemoryPath::MAPPED, MemoryPath::PROCESS, MemoryPath::NETWORK];

#[test]
fn everything_goes_over_tcp_as_well() {
    if std::env::var("UCX_TLS").is_ok_and(|transports| transports == "tcp") {
        return;
    }
    let mut tests = this_program();
    let tests = tests.env("UCX_TLS", "tcp").output().unwrap();
    assert!(tests.status.success(), "{}", String::from_utf8_lossy(&tests.stdout));
}

#[derive(Clone, Copy)]
struct End<'a> {
    worker: &'a Worker<Protocol>,
    connection: u64,
    rdma: u64,
}

impl<'a> End<'a> {
    fn new(worker: &'a Worker<Protocol>, connection: u64, permissions: Access) -> End<'a> {
        let permissions = permissions.difference(Access::PCI_READ_WRITE).bits();
        let created = worker.send_from(connection, Create { permissions });
        End { worker, connection, rdma: worker.wait(created).unwrap().rdma }
    }

    fn started(worker: &'a Worker<Protocol>, permissions: Access) -> End<'a> {
        let end = End::new(worker, 1, permissions);
        end.call(Start { rdma: end.rdma }).unwrap();
        end
    }

    fn send<C: urom_abi::protocol::Request<Protocol = Protocol>>(
        &self,
        command: C,
    ) -> Sent<C::Reply> {
        self.worker.send_from(self.connection, command)
    }

    fn call<C: urom_abi::protocol::Request<Protocol = Protocol>>(
        &self,
        command: C,
    ) -> Result<C::Reply, DocaError> {
        self.wait(self.send(command))
    }

    fn details(&self) -> Vec<u8> {
        self.call(Export { rdma: self.rdma }).unwrap().details.to_vec()
    }

    fn state(&self) -> State {
        self.call(Query { rdma: self.rdma }).unwrap().state
    }

    fn share(&self, bytes: impl AsRef<[u8]>, access: Access) -> SharedMemory {
        self.share_by(bytes, access, MemoryPath::MAPPED)
    }

    fn share_by(&self, bytes: impl AsRef<[u8]>, access: Access, path: MemoryPath) -> SharedMemory {
        self.worker.share_from(self.connection, bytes, access, path)
    }

    fn write(&self, target: Remote, pieces: &[MemoryRange]) -> Sent<Written> {
        self.send(Write { rdma: self.rdma, target, pieces: pieces.into() })
    }

    fn read(&self, source: Remote, buffers: &[MemoryRange]) -> Sent<ReadDone> {
        self.send(Read { rdma: self.rdma, source, places: buffers.into() })
    }

    fn tell(&self, pieces: &[MemoryRange]) -> Sent<rdma_protocol::Sent> {
        self.send(Send { rdma: self.rdma, pieces: pieces.into() })
    }

    fn wait<R: urom_abi::protocol::Reply>(&self, sent: Sent<R>) -> Result<R, DocaError> {
        self.worker.wait(sent)
    }

    fn post(&self, buffers: &[MemoryRange]) -> Sent<ReceiveDone> {
        self.send(Receive { rdma: self.rdma, places: buffers.into() })
    }

    fn failure<R: urom_abi::protocol::Reply>(&self, sent: Sent<R>) -> (DocaError, String) {
        let until = Instant::now() + DEADLINE;
        loop {
            if let Some(why) = self.worker.failure(&sent) {
                let code = self.wait(sent).err().expect("it failed");
                return (code, why);
            }
            assert!(Instant::now() < until, "it does not fail");
            // Waiting for another command progresses all workers.
            self.state();
        }
    }
}

fn connect(one: End<'_>, two: End<'_>) {
    let details = [one.details(), two.details()];
    one.call(Connect { rdma: one.rdma, details: &details[1] }).unwrap();
    two.call(Connect { rdma: two.rdma, details: &details[0] }).unwrap();
}

struct Workers([Worker<Protocol>; 2]);

impl Deref for Workers {
    type Target = [Worker<Protocol>; 2];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl Drop for Workers {
    /// Closing an endpoint needs the progress of both ends.
    fn drop(&mut self) {
        if std::thread::panicking() || self.0.iter().any(|worker| worker.in_flight() > 0) {
            return;
        }
        for worker in &self.0 {
            [1, 2].into_iter().for_each(|connection| worker.leave(connection));
        }
        for _ in 0..200 {
            for worker in &self.0 {
                worker.progress();
            }
        }
    }
}

fn workers() -> (Domain, Workers) {
    let domain = Domain::new();
    let workers = [0, 1].map(|id| domain.open::<RdmaPlugin, Protocol>(id));
    for worker in &workers {
        worker.set_timeout(DEADLINE);
    }
    (domain, Workers(workers))
}

fn pair(workers: &[Worker<Protocol>; 2]) -> [End<'_>; 2] {
    let ends = [0, 1].map(|at| End::started(&workers[at], ALL));
    connect(ends[0], ends[1]);
    ends
}

fn until(domain: &Domain, what: &str, mut holds: impl FnMut() -> bool) {
    let until = Instant::now() + DEADLINE;
    while !holds() {
        assert!(Instant::now() < until, "{what} takes too long");
        domain.progress();
    }
}

fn at(memory: &SharedMemory, offset: u64) -> Remote {
    Remote { memory: memory.range().memory, offset }
}

fn pattern(len: usize, seed: u8) -> Vec<u8> {
    (0..len).map(|at| (at as u8).wrapping_mul(7).wrapping_add((at >> 8) as u8) ^ seed).collect()
}
