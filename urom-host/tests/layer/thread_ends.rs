//! Thread-locals with this crate's objects, destroyed before or after this crate's own.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};

use urom_host::{DocaError, Service, Worker};

use crate::fake::{self, script};
use crate::{connect, send, start};

struct Rest {
    service: Service,
    stops: Worker,
    told: Rc<Cell<Option<DocaError>>>,
}

impl Drop for Rest {
    fn drop(&mut self) {
        // A callback that runs in here drops its worker.
        self.service.progress();
        assert!(self.stops.in_flight().is_ok_and(|count| count == 1));
        assert_eq!(self.told.get(), None);
    }
}

thread_local! {
    static REST: RefCell<Option<Rest>> = const { RefCell::new(None) };
}

#[test]
fn workers_that_are_dropped_as_their_thread_ends_are_stopped() {
    let _clean = fake::clean();
    let before = fake::live();
    let thread = std::thread::spawn(|| {
        // The first one used is destroyed last.
        REST.with_borrow(|rest| assert!(rest.is_none()));
        let service = connect();
        let (graph, stops) = start(&service, 1);
        let (_, dropped) = start(&service, 2);
        let told = Rc::new(Cell::new(None));
        let theirs = Rc::clone(&told);
        let hangs = graph.task_loopback(&stops, script::HANG);
        hangs
            .submit_with(move |answer| theirs.set(answer.err().map(|error| error.code())))
            .unwrap();
        graph.task_loopback(&stops, 1).submit_with(move |_| drop(dropped)).unwrap();
        REST.set(Some(Rest { service, stops, told }));
    });
    thread.join().unwrap();
    assert_eq!(fake::live(), before, "a worker stayed behind");
}

struct Polled<F: Future + Unpin>(F);

impl<F: Future + Unpin> Drop for Polled<F> {
    fn drop(&mut self) {
        let mut cx = Context::from_waker(Waker::noop());
        assert!(Pin::new(&mut self.0).poll(&mut cx).is_pending());
    }
}

thread_local! {
    static POLLED: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
}

#[test]
fn a_future_may_be_polled_as_its_thread_ends() {
    let _clean = fake::clean();
    let thread = std::thread::spawn(|| {
        POLLED.with_borrow(|polled| assert!(polled.is_none()));
        let service = connect();
        let (graph, worker) = start(&service, 1);
        #[cfg(feature = "tokio")]
        {
            // A driver's thread-locals are destroyed earlier.
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime
                .block_on(urom_host::tokio::drive(async { Ok::<_, urom_host::Error>(()) }))
                .unwrap();
        }
        let hangs = send(&graph, &worker, script::HANG);
        POLLED.set(Some(Box::new(Polled(hangs))));
    });
    thread.join().unwrap();
}
