//! Connections to a host that fail, while the host is there.

use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use ucx::{AmFlags, Outside};
use urom_abi::memory::Access;
use urom_memory::engine::Offered;
use urom_wire::remote::AM_ASK;

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

/// A host that answers nothing, and how often it was asked.
struct Rig {
    remote: Rc<Remote>,
    known: Rc<Host>,
    region: Rc<Region>,
    host: Worker,
    asked: Rc<Cell<usize>>,
    operation: MemoryOperation,
}

impl Rig {
    fn new() -> Rig {
        let remote = Rc::new(Remote::new(&[]));
        let (host, asked) = host();
        let access = Access::PCI_READ_WRITE;
        let offered = Offered { share: 3, memory: 4, address: 0x10000, len: 64, access };
        let address = host.address().unwrap();
        let (path, _) = remote.open_path(1, 9, address.as_bytes()).unwrap();
        let known = remote.host(1, 9, address.as_bytes()).unwrap();
        let operation = MemoryOperation::new(MemoryAction::SWAP, 0, 8);
        let region = Region::alone(offered, path);
        Rig { remote, known, region, host, asked, operation }
    }

    /// Runs the operation on its path.
    fn start(&mut self) -> DocaError {
        let operation = NonNull::from(&mut self.operation);
        // SAFETY: it stays in the rig until it has ended, and moves no bytes.
        unsafe { self.region.path().run(&self.region, 0, operation) }.unwrap_err()
    }

    /// Begins an operation, and waits until the host is asked.
    fn ask(&mut self) {
        self.operation.status = DocaError::IN_PROGRESS;
        let before = self.asked.get();
        assert_eq!(self.start(), DocaError::IN_PROGRESS);
        self.until(|rig| rig.asked.get() > before);
    }

    /// How the operation ends.
    fn ended(&mut self) -> DocaError {
        // SAFETY: the rig's own, which only the calls of this thread write.
        let status = |rig: &Rig| unsafe { (&raw const rig.operation.status).read_volatile() };
        self.until(|rig| status(rig) != DocaError::IN_PROGRESS);
        status(self)
    }

    fn until(&mut self, done: impl Fn(&Rig) -> bool) {
        let start = Instant::now();
        while !done(self) {
            self.host.progress();
            self.remote.turn();
            assert!(start.elapsed() < LIMIT);
        }
    }

    /// The kernel refuses to send bytes that cannot be read, and UCX gives up the connection.
    fn fail(&mut self) {
        let (len, none) = (MOST_MOVED as usize, ProtFlags::empty());
        // SAFETY: a new mapping at a place of the kernel's choice.
        let gone =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, none, MapFlags::PRIVATE) }.unwrap();
        // SAFETY: only the kernel looks there.
        let bytes = unsafe { Outside::new(gone.cast(), len, ()) };
        let endpoint = self.known.endpoint.borrow();
        endpoint.as_ref().unwrap().am_send_with(AM_ASK, &[], bytes, AmFlags::EAGER).detach();
        drop(endpoint);
        self.until(|rig| rig.known.is_failed());
    }
}

fn host() -> (Worker, Rc<Cell<usize>>) {
    let host = context().build().unwrap().worker().unwrap();
    let asked: Rc<Cell<usize>> = Rc::default();
    let asks = Rc::clone(&asked);
    host.set_am_handler(AM_ASK, move |_: Message<'_>| asks.set(asks.get() + 1)).unwrap();
    (host, asked)
}

#[test]
fn a_host_is_asked_again_after_its_connection_failed() {
    let mut rig = Rig::new();
    for _ in 0..3 {
        rig.ask();
        rig.fail();
        assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    }
    rig.ask();
    rig.remote.lose(1);
    assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    assert_eq!(rig.start(), DocaError::CONNECTION_RESET, "it has left");
}

#[test]
fn a_host_is_asked_where_it_answers_now() {
    let mut rig = Rig::new();
    rig.ask();
    let (host, asked) = host();
    let again = rig.remote.host(1, 9, host.address().unwrap().as_bytes()).unwrap();
    assert!(Rc::ptr_eq(&again, &rig.known));
    assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    (rig.host, rig.asked) = (host, asked);
    rig.ask();
    rig.remote.shut();
    assert_eq!(rig.ended(), DocaError::SHUTDOWN);
}
