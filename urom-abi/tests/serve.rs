//! A command from its bytes to the descriptor of its answer.

use std::cell::Cell;
use std::error::Error;
use std::future::{pending, poll_fn};
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use urom_abi::wire::serve;

use self::protocol::{Add, Sum};

mod protocol {
    /// What may be asked.
    #[urom_abi::urom_command(plugin = "worker_sum", version = 1)]
    pub(crate) enum Command {
        /// Adds.
        #[urom(reply = Sum)]
        Add {
            /// What.
            value: u64,
        },
    }

    /// What is answered.
    #[urom_abi::urom_notification]
    pub(crate) enum Notification {
        /// The sum.
        Sum {
            /// Of all.
            total: u64,
        },
    }
}

type Failed = Box<dyn Error>;

/// A command's bytes: its tag, which is 0, and its value.
fn add(value: u64) -> [u8; 16] {
    let mut bytes = [0; 16];
    bytes[8..].copy_from_slice(&value.to_le_bytes());
    bytes
}

#[test]
fn an_answer_that_waits_is_polled_until_it_is_there() {
    let bytes = add(41);
    let polls = Cell::new(0);
    let run = |Add { value }| {
        let polls = &polls;
        poll_fn(move |_| {
            polls.set(polls.get() + 1);
            if polls.get() < 3 {
                Poll::Pending
            } else {
                Poll::Ready(Ok::<_, Failed>(Sum { total: value + 1 }))
            }
        })
    };
    let mut answer = pin!(serve(|| Add::decode(&bytes), run));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..2 {
        assert!(answer.as_mut().poll(&mut context).is_pending());
    }
    let Poll::Ready(Ok(notification)) = answer.as_mut().poll(&mut context) else {
        panic!("no answer")
    };
    assert_eq!((notification.payload(), polls.get()), (&add(42)[..], 3));
}

#[test]
fn what_cannot_be_read_is_told_and_not_run() {
    let bytes = add(1);
    let run = |_: Add| -> std::future::Ready<Result<Sum, Failed>> { panic!("it was run") };
    let mut answer = pin!(serve(|| Add::decode(&bytes[..12]), run));
    let Poll::Ready(Err(error)) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("half a command was answered")
    };
    assert!(error.to_string().contains("Add"), "{error}");
}

#[test]
fn a_handlers_error_is_the_answers() {
    let bytes = add(1);
    let run = async |_: Add| Err::<Sum, Failed>("it is too much".into());
    let mut answer = pin!(serve(|| Add::decode(&bytes), run));
    let Poll::Ready(Err(error)) = answer.as_mut().poll(&mut Context::from_waker(Waker::noop()))
    else {
        panic!("there is an answer")
    };
    assert_eq!(error.to_string(), "it is too much");
}

#[test]
fn what_was_run_is_dropped_with_the_future() {
    struct Noted<'a>(&'a Cell<bool>);
    impl Drop for Noted<'_> {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let (bytes, dropped) = (add(1), Cell::new(false));
    let run = |_: Add| {
        let noted = Noted(&dropped);
        async move {
            let _noted = noted;
            pending::<Result<Sum, Failed>>().await
        }
    };
    let mut answer = Box::pin(serve(|| Add::decode(&bytes), run));
    assert!(answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending());
    assert!(!dropped.get());
    drop(answer);
    assert!(dropped.get());
}
