//! Several drivers of one thread; one is no longer polled.

use std::cell::Cell;
use std::future::{Future, pending};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Wake, Waker};

use tokio::runtime::Builder;
use tokio::sync::oneshot;
use tokio::task::{LocalSet, spawn_local, yield_now};
use tokio::time::timeout;
use urom_host::tokio::drive;
use urom_host::{Error, Result};

use crate::{LIMIT, world};

#[derive(Default)]
struct Woken(AtomicUsize);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

#[test]
fn a_driver_that_is_not_polled_any_more_does_not_keep_others_asleep() {
    let (_clean, _service, graph, worker) = world(0);
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let answer = LocalSet::new().block_on(&runtime, async {
        let (tell, told) = oneshot::channel();
        let other = spawn_local(drive(async move { Ok::<_, Error>(told.await.expect("told")) }));
        let woken = Arc::new(Woken::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut cx = Context::from_waker(&waker);
        let mut parked = Box::pin(drive(pending::<Result<()>>()));
        // Eventually both have requested notifications, and sleep.
        let mut quiet = 0;
        while quiet < 100 {
            assert!(parked.as_mut().poll(&mut cx).is_pending());
            quiet = if woken.0.swap(0, Ordering::Relaxed) == 0 { quiet + 1 } else { 0 };
            yield_now().await;
        }
        // One driver clears the notification when an answer arrives, and is never polled again.
        let answered = Rc::new(Cell::new(false));
        let theirs = Rc::clone(&answered);
        graph.task_loopback(&worker, 1).submit_with(move |_| theirs.set(true)).unwrap();
        while !answered.get() {
            assert!(parked.as_mut().poll(&mut cx).is_pending());
        }
        graph.task_loopback(&worker, 2).submit_with(move |answer| drop(tell.send(answer))).unwrap();
        timeout(LIMIT, other).await.expect("it is woken").expect("it does not panic")
    });
    assert_eq!(answer.unwrap().unwrap().data, 2);
}
