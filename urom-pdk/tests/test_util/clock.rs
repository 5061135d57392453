//! The clock of handlers, moved by a test.

use std::time::Duration;

use urom_pdk::DocaError;
use urom_pdk::test_util::{Domain, Worker};
use urom_pdk::time;

use crate::driving::panic_of;
use crate::plugin::*;

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn sleep(milliseconds: u64) -> Sleep {
    Sleep { cookie: 1, milliseconds, limit: u64::MAX / 2_000_000 }
}

#[test]
fn the_clock_stands_still_until_the_test_moves_it() {
    let worker = Worker::open::<Obliging>();
    let start = time::now();
    let sent = worker.send(sleep(1000));
    assert_eq!(time::now(), start);
    worker.advance(ms(999));
    assert_eq!((worker.progress(), time::now() - start), (0, ms(999)));
    worker.advance(ms(1));
    assert_eq!(worker.progress(), 1);
    assert_eq!(worker.answer(&sent), Some(Ok(Value { value: 1000 })));
}

#[test]
fn sleepers_wake_in_the_order_of_their_moments() {
    let worker = Worker::open::<Obliging>();
    let times = [30, 10, 20, 10, 0];
    let sent = times.map(|time| worker.send(sleep(time)));
    let done = |worker: &Worker<Protocol>| {
        worker.progress();
        sent.iter().map(|sent| worker.notification(sent).is_some()).collect::<Vec<_>>()
    };
    assert_eq!(done(&worker), [false, false, false, false, true]);
    worker.advance(ms(10));
    assert_eq!(done(&worker), [false, true, false, true, true]);
    worker.advance(ms(15));
    assert_eq!(done(&worker), [false, true, true, true, true]);
    worker.advance(ms(100));
    assert_eq!(done(&worker), [true; 5]);
    // A late sleep sees the actual time.
    assert_eq!(worker.answer(&sent[0]), Some(Ok(Value { value: 125 })));
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn a_future_that_exceeds_its_limit_times_out() {
    let worker = Worker::open::<Obliging>();
    let late = worker.send(Sleep { cookie: 1, milliseconds: 50, limit: 49 });
    let in_time = worker.send(Sleep { cookie: 1, milliseconds: 50, limit: 50 });
    worker.advance(ms(49));
    assert_eq!(worker.progress(), 1);
    assert_eq!(worker.answer(&late), Some(Err(DocaError::TIME_OUT)));
    worker.advance(ms(1));
    assert_eq!(worker.wait(in_time), Ok(Value { value: 50 }));
}

#[test]
#[cfg_attr(miri, ignore = "a panic prints where it comes from, which takes Miri seconds")]
fn a_wait_for_a_sleeper_reports_that_the_clock_stands_still() {
    let worker = Worker::open::<Obliging>();
    worker.set_timeout(Duration::ZERO);
    let text = panic_of(|| _ = worker.call(sleep(1500)));
    assert!(
        text.contains("something sleeps for another 1.5s, and the clock moves by `advance` alone"),
        "{text}"
    );
    worker.close();
}

#[test]
fn a_closed_plugins_sleepers_are_gone() {
    let worker = Worker::open::<Obliging>();
    worker.send(sleep(1));
    assert_eq!(worker.close(), 1);
    assert!(worker.finish().is_clean());
    let other = Worker::<Protocol>::open::<Obliging>();
    other.advance(ms(10));
    assert_eq!(other.progress(), 0);
}

#[test]
#[cfg_attr(miri, ignore = "reads and frees nothing that other tests do not")]
fn workers_of_a_test_share_the_clock() {
    let domain = Domain::new();
    let one = domain.open::<Obliging, Protocol>(1);
    let other = domain.open::<Obliging, Protocol>(2);
    let sent = [one.send(sleep(5)), other.send(sleep(5))];
    one.advance(ms(5));
    assert_eq!(domain.progress(), 2);
    assert_eq!(one.answer(&sent[0]), Some(Ok(Value { value: 5 })));
    assert_eq!(other.answer(&sent[1]), Some(Ok(Value { value: 5 })));
}

#[test]
fn a_moment_beyond_every_clock_never_comes() {
    let mut never = time::sleep(Duration::MAX);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::Pin::new(&mut never).poll(&mut cx).is_pending());
}

#[test]
fn without_the_kit_the_clock_runs() {
    // No worker was opened on this thread.
    let start = time::now();
    while time::now() == start {}
    let past = time::sleep_until(start);
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(std::pin::pin!(past).poll(&mut cx).is_ready());
}
