//! Functions beyond DOCA's interface: cancellation, leaving hosts, calls, reasons of failures.

use std::cell::RefCell;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Duration;

use urom_abi::{urom_command, urom_notification};
use urom_pdk::prelude::*;
use urom_pdk::test_util::{CONNECTION, Domain, Worker, iface};
use urom_pdk::{CancelReason, time};

#[urom_command(plugin = "worker_beyond", version = 1)]
enum Command<'a> {
    /// Answers with the time to its deadline.
    #[urom(reply = Value)]
    Left,
    /// Answers with the longest answer's length.
    #[urom(reply = Value)]
    Longest,
    /// Ends with an error when it is cancelled.
    #[urom(reply = Value)]
    Wait,
    /// Ends after it is cancelled and the test releases it.
    #[urom(reply = Value)]
    Linger,
    /// Ends when it is cancelled, and waits with its own waker.
    #[urom(reply = Value)]
    WaitAside,
    #[urom(reply = Value)]
    Fail {
        #[urom(inline)]
        text: &'a [u8],
    },
}

#[urom_notification]
#[derive(Debug, PartialEq)]
enum Notification {
    Value { value: u64 },
}

thread_local! {
    static LEFT: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
    static LET_GO: RefCell<Vec<Waker>> = const { RefCell::new(Vec::new()) };
}

struct Forward(Waker);

impl Wake for Forward {
    fn wake(self: Arc<Self>) {
        self.0.wake_by_ref();
    }
}

struct Plugin;

#[urom_plugin(export = false)]
impl Handler for Plugin {
    fn open(_: &OpenContext) -> Result<Self> {
        Ok(Plugin)
    }

    fn host_left(&self, connection: ConnectionId) {
        LEFT.with_borrow_mut(|left| left.push(connection.into()));
    }

    async fn left(&self, cx: &Context, _: Left) -> Result<Value> {
        let left = cx.deadline().map(|at| at.saturating_duration_since(time::now()));
        Ok(Value { value: left.map_or(0, |left| left.as_millis() as u64) })
    }

    async fn longest(&self, cx: &Context, _: Longest) -> Result<Value> {
        Ok(Value { value: cx.longest_answer().map_or(0, |most| most as u64) })
    }

    async fn wait(&self, cx: &Context, _: Wait) -> Result<Value> {
        cx.unless_cancelled(std::future::pending::<()>()).await?;
        Ok(Value { value: 0 })
    }

    async fn linger(&self, cx: &Context, _: Linger) -> Result<Value> {
        cx.cancelled().await;
        let mut polls = 0;
        std::future::poll_fn(|task| {
            polls += 1;
            LET_GO.with_borrow_mut(|wakers| wakers.push(task.waker().clone()));
            if polls == 1 { std::task::Poll::Pending } else { std::task::Poll::Ready(()) }
        })
        .await;
        Ok(Value { value: 0 })
    }

    async fn wait_aside(&self, cx: &Context, _: WaitAside) -> Result<Value> {
        let mut cancelled = pin!(cx.cancelled());
        std::future::poll_fn(|task| {
            let waker = Waker::from(Arc::new(Forward(task.waker().clone())));
            cancelled.as_mut().poll(&mut std::task::Context::from_waker(&waker))
        })
        .await;
        Ok(Value { value: 0 })
    }

    async fn fail(&self, _: &Context, cmd: Fail<'_>) -> Result<Value> {
        let text = String::from_utf8_lossy(cmd.text).into_owned();
        if text == "panic" {
            panic!("as the command says");
        }
        Err(Error::new(DocaError::FULL, text))
    }
}

fn open() -> Worker<Protocol> {
    Worker::open::<Plugin>()
}

/// Opens the plugin as in NVIDIA's worker.
fn open_plain() -> Worker<Protocol> {
    // SAFETY: an interface of this kit.
    unsafe { Worker::from_watched_iface(iface::<Plugin, Protocol>(), &Domain::new()) }.unwrap()
}

#[test]
fn a_command_is_cancelled_and_no_other() {
    let worker = open();
    let (first, second) = (worker.send(Wait), worker.send(Wait));
    worker.cancel(&second, CancelReason::Cancelled);
    assert_eq!(worker.progress(), 1);
    assert_eq!(
        worker.failure(&second).as_deref(),
        Some("it was cancelled: the host cancelled the command")
    );
    assert_eq!(worker.answer(&second), Some(Err(DocaError::SKIPPED)));
    // A cancel after the answer does nothing.
    worker.cancel(&second, CancelReason::TimedOut);
    assert_eq!((worker.progress(), worker.in_flight()), (0, 1));
    worker.cancel(&first, CancelReason::TimedOut);
    assert_eq!(worker.wait(first), Err(DocaError::SKIPPED));
}

#[test]
#[cfg_attr(miri, ignore = "does nothing that one command does not")]
fn thousands_are_cancelled_in_any_order_and_each_ends_once() {
    let worker = open();
    let all: Vec<_> = (0..3000).map(|_| worker.queue(Wait)).collect();
    worker.flush();
    for sent in all.iter().step_by(2).chain(all.iter().rev()) {
        worker.cancel(sent, CancelReason::Cancelled);
    }
    assert_eq!((worker.progress(), worker.in_flight()), (3000, 0));
    assert!(all.into_iter().all(|sent| worker.wait(sent) == Err(DocaError::SKIPPED)));
}

#[test]
fn a_wait_with_another_waker_ends_too() {
    let worker = open();
    let waits = worker.send(WaitAside);
    worker.cancel(&waits, CancelReason::Cancelled);
    assert_eq!((worker.progress(), worker.answer(&waits)), (1, Some(Ok(Value { value: 0 }))));
}

#[test]
fn a_command_that_is_queued_is_begun_before_it_is_cancelled() {
    let worker = open();
    let queued = worker.queue(Wait);
    worker.cancel(&queued, CancelReason::Cancelled);
    assert_eq!(worker.wait(queued), Err(DocaError::SKIPPED));
}

#[test]
fn a_host_has_left_after_its_last_command_ended() {
    let worker = open();
    LEFT.take();
    let lingers = worker.send_from(7, Linger);
    let other = worker.send(Wait);
    worker.leave(7);
    assert_eq!((worker.progress(), LEFT.take()), (0, vec![]));
    LET_GO.take().iter().for_each(Waker::wake_by_ref);
    assert_eq!((worker.progress(), LEFT.take()), (1, vec![7]));
    assert!(worker.answer(&lingers).is_some_and(|answer| answer.is_ok()));
    // Without commands a host leaves at once, and each host is reported once.
    worker.leave(8);
    assert_eq!(LEFT.take(), [8]);
    worker.cancel(&other, CancelReason::Cancelled);
    worker.leave(CONNECTION);
    assert_eq!((worker.progress(), LEFT.take()), (1, vec![CONNECTION]));
    worker.progress();
    assert!(LEFT.take().is_empty());
}

#[test]
#[should_panic(expected = "the host of connection 7 has left")]
fn no_command_comes_from_a_host_that_has_left() {
    let worker = open();
    worker.leave(7);
    worker.send_from(7, Left);
}

#[test]
fn a_called_command_that_ends_at_once_is_answered_without_progress() {
    let worker = open();
    let called = worker.send_directly(Left);
    assert_eq!(worker.answer(&called), Some(Ok(Value { value: 0 })));
    // Progress answers a command that waits, a command that fails, and a command behind others.
    let (waits, fails) = (worker.send_directly(Wait), worker.send_directly(Fail { text: b"no" }));
    let queued = worker.queue(Left);
    let behind = worker.send_directly(Left);
    assert_eq!(worker.in_flight(), 4);
    worker.progress();
    assert!(worker.answer(&queued).is_some() && worker.answer(&behind).is_some());
    assert_eq!(worker.answer(&fails), Some(Err(DocaError::FULL)));
    worker.cancel(&waits, CancelReason::Cancelled);
    assert_eq!(worker.wait(waits), Err(DocaError::SKIPPED));
}

#[test]
fn a_handler_sees_its_deadline_and_the_limit() {
    let worker = open();
    let sent = worker.send_within(Duration::from_secs(3600), Left);
    let left = worker.wait(sent).unwrap().value;
    assert!((3_590_000..=3_600_000).contains(&left), "{left} ms");
    assert_eq!(worker.call(Left), Ok(Value { value: 0 }));
    assert_eq!(worker.call(Longest), Ok(Value { value: 4096 - 32 }));
    worker.set_message_limit(100);
    assert_eq!(worker.call(Longest), Ok(Value { value: 68 }));
}

#[test]
fn a_host_gets_the_reason_of_its_commands_failure() {
    let worker = open();
    let good = worker.send(Left);
    let (bad, panics) = (worker.send(Fail { text: b"no" }), worker.send(Fail { text: b"panic" }));
    let long = worker.send(Fail { text: &[b'x'; 3000] });
    worker.progress();
    assert_eq!((worker.failure(&good), worker.failure(&bad)), (None, Some("no".into())));
    assert_eq!(worker.failure(&long).map(|why| why.len()), Some(2048));
    let panicked = worker.failure(&panics).unwrap();
    assert!(panicked.starts_with("its handler panicked at "), "{panicked}");
    assert!(panicked.ends_with(": as the command says"), "{panicked}");
}

#[test]
fn a_plugin_that_is_opened_by_its_interface_alone_has_none_of_it() {
    let worker = open_plain();
    LEFT.take();
    let (waits, fails) = (worker.send(Wait), worker.send_directly(Fail { text: b"no" }));
    worker.cancel(&waits, CancelReason::Cancelled);
    worker.leave(CONNECTION);
    worker.progress();
    assert_eq!((worker.in_flight(), LEFT.take()), (1, vec![]));
    assert_eq!(worker.failure(&fails), None);
    assert_eq!(worker.answer(&fails), Some(Err(DocaError::FULL)));
    let sent = worker.send_from(2, Longest);
    assert_eq!(worker.wait(sent), Ok(Value { value: 0 }));
    assert_eq!(worker.close(), 1);
}
