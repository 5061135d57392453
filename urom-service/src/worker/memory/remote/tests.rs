//! Failed connections to a live host, and a host that sends endlessly. The model in `fuzzing.rs`
//! covers right and wrong answers; the end-to-end tests `memory*` cover lost hosts.

use std::time::{Duration, Instant};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous};
use ucx::{AmFlags, Outside, WorkerAddress};
use urom_wire::remote::AM_ASK;

use super::fuzzing::Library;
use super::*;

const LIMIT: Duration = Duration::from_secs(10);

struct OneOperation {
    library: Library,
    known: Rc<RemoteHost>,
    region: Rc<Region>,
    operation: MemoryOperation,
}

impl OneOperation {
    fn new() -> OneOperation {
        let library = Library::new();
        let region = library.region(1, 9);
        let known = library.remote.host(1, 9, &library.address()).unwrap();
        let operation = MemoryOperation::new(MemoryAction::SWAP, 0, 8);
        OneOperation { library, known, region, operation }
    }

    fn start(&mut self) -> DocaError {
        let operation = NonNull::from(&mut self.operation);
        // SAFETY: it stays in the rig until it has ended, and moves no bytes.
        unsafe { self.region.path().run(&self.region, 0, operation) }.unwrap_err()
    }

    /// Starts an operation, and waits until the host has its request.
    fn ask(&mut self) {
        self.operation.status = DocaStatus::IN_PROGRESS;
        let before = self.library.asked.get();
        assert_eq!(self.start(), DocaError::IN_PROGRESS);
        self.until(|rig| rig.library.asked.get() > before);
    }

    fn ended(&mut self) -> DocaStatus {
        // SAFETY: the rig's own, which only the calls of this thread write.
        let status =
            |rig: &OneOperation| unsafe { (&raw const rig.operation.status).read_volatile() };
        self.until(|rig| status(rig) != DocaError::IN_PROGRESS);
        status(self)
    }

    fn until(&mut self, done: impl Fn(&OneOperation) -> bool) {
        let start = Instant::now();
        while !done(self) {
            self.library.worker.progress();
            self.library.remote.turn();
            assert!(start.elapsed() < LIMIT);
        }
    }

    /// The kernel refuses to send unreadable bytes, and UCX closes the connection.
    fn fail(&mut self) {
        let (len, none) = (MOST_MOVED as usize, ProtFlags::empty());
        // SAFETY: a new mapping at an address of the kernel's choice.
        let gone =
            unsafe { mmap_anonymous(std::ptr::null_mut(), len, none, MapFlags::PRIVATE) }.unwrap();
        // SAFETY: only the kernel reads there.
        let bytes = unsafe { Outside::new(gone.cast(), len, ()) };
        let endpoint = self.known.endpoint.borrow();
        endpoint.as_ref().unwrap().am_send_with(AM_ASK, &[], bytes, AmFlags::EAGER).detach();
        drop(endpoint);
        self.until(|rig| rig.known.is_failed());
    }
}

#[test]
fn a_host_is_asked_again_after_its_connection_failed() {
    let mut rig = OneOperation::new();
    for _ in 0..3 {
        rig.ask();
        rig.fail();
        assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    }
    rig.ask();
    rig.library.remote.lose(1);
    assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    assert_eq!(rig.start(), DocaError::CONNECTION_RESET, "it has left");
}

#[test]
fn a_host_is_asked_where_it_answers_now_until_the_worker_ends() {
    let mut rig = OneOperation::new();
    rig.ask();
    rig.library.restart();
    let again = rig.library.remote.host(1, 9, &rig.library.address()).unwrap();
    assert!(Rc::ptr_eq(&again, &rig.known));
    assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
    rig.ask();
    rig.library.remote.shut();
    assert_eq!(rig.ended(), DocaError::SHUTDOWN);
    assert_eq!(rig.start(), DocaError::SHUTDOWN);
}

#[test]
fn a_host_that_sends_without_end_holds_up_no_turn() {
    let mut rig = OneOperation::new();
    rig.ask();
    let Library { remote, worker, .. } = &rig.library;
    // SAFETY: the address of a worker of this process.
    let client = unsafe { WorkerAddress::from_bytes(&remote.address().unwrap()) }.unwrap();
    let endpoint = worker.endpoint().connect(&client).unwrap();
    let of_nothing = Answer {
        token: 9.into(),
        number: 77.into(),
        result: 0.into(),
        status: 0.into(),
        reserved: 0.into(),
    };
    for _ in 0..500 {
        let data = vec![7; 200 << 10];
        endpoint.am_send_with(AM_ANSWER, of_nothing.as_bytes(), data, AmFlags::EAGER).detach();
    }
    let start = Instant::now();
    while !remote.turn() {
        worker.progress();
        assert!(start.elapsed() < LIMIT, "a turn ends only when UCX has nothing left");
    }
    assert!(remote.is_busy());
    rig.library.remote.lose(1);
    assert_eq!(rig.ended(), DocaError::CONNECTION_RESET);
}
