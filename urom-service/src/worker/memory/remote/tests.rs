//! Connections to a host that fail, while the host is there.

use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use tokio::sync::mpsc::UnboundedReceiver;
use ucx::{AmFlags, Outside};
use urom_abi::memory::Access;
use urom_wire::control::{MemoryOffer, MemoryPlace};
use urom_wire::remote::AM_ASK;

use super::super::Shared;
use super::*;
use crate::worker::control_thread::ControlHandle;
use crate::worker::messages::ToControl;

const LIMIT: Duration = Duration::from_secs(10);

/// A host that answers nothing, and how often it was asked.
struct Rig {
    remote: Remote,
    region: Rc<Region>,
    host: Worker,
    asked: Rc<Cell<usize>>,
    operation: MemoryOperation,
    _control: UnboundedReceiver<ToControl>,
}

impl Rig {
    fn new() -> Rig {
        let remote = Remote::new(&[]);
        let (host, asked) = host();
        let (control, told) = ControlHandle::new();
        let offer = MemoryOffer {
            share: 3,
            memory: 4,
            address: 0x10000,
            len: 64,
            access: Access::PCI_READ_WRITE.bits(),
            place: MemoryPlace::Network,
            ucx_address: Vec::new(),
        };
        let shared = Shared { offer, handed: None, ticket: 9 };
        let known = remote.host(1, 9, host.address().unwrap().as_bytes()).unwrap();
        let region = Region::new(shared, Some(known), 1, control, Rc::default()).unwrap();
        let operation = MemoryOperation::new(MemoryAction::SWAP, 0, 8);
        let region = Rc::new(region);
        Rig { remote, region, host, asked, operation, _control: told }
    }

    fn known(&self) -> &Rc<Host> {
        self.region.host.as_ref().unwrap()
    }

    /// Begins an operation, and waits until the host is asked.
    fn ask(&mut self) {
        self.operation.status = DocaError::IN_PROGRESS;
        let (region, host) = (Rc::clone(&self.region), Rc::clone(self.known()));
        let operation = NonNull::from(&mut self.operation);
        // SAFETY: it stays in the rig until it has ended, and moves no bytes.
        unsafe { self.remote.start(region, host, 0, operation) }.unwrap();
        let before = self.asked.get();
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
        let endpoint = self.known().endpoint.borrow();
        endpoint.as_ref().unwrap().am_send_with(AM_ASK, &[], bytes, AmFlags::EAGER).detach();
        drop(endpoint);
        self.until(|rig| rig.known().is_failed());
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
    let (region, known) = (Rc::clone(&rig.region), Rc::clone(rig.known()));
    // SAFETY: as in `ask`.
    let started = unsafe { rig.remote.start(region, known, 0, NonNull::from(&mut rig.operation)) };
    assert_eq!(started, Err(DocaError::CONNECTION_RESET), "it has left");
}

#[test]
fn a_host_is_asked_where_it_answers_now() {
    let mut rig = Rig::new();
    rig.ask();
    let (host, asked) = host();
    let again = rig.remote.host(1, 9, host.address().unwrap().as_bytes()).unwrap();
    assert!(Rc::ptr_eq(&again, rig.known()));
    assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    (rig.host, rig.asked) = (host, asked);
    rig.ask();
    rig.remote.shut();
    assert_eq!(rig.ended(), DocaError::SHUTDOWN);
}
