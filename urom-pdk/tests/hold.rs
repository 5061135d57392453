//! Bytes of a command held beyond its future, its answer and the plugin.

mod common;

use std::cell::RefCell;
use std::rc::Rc;

use common::protocol::*;
use common::{Worker, open};
use urom_pdk::{Context, DocaError, DocaStatus, Held, Result};

type Kept = Rc<RefCell<Vec<Held>>>;

fn holding(hold: impl Fn(&Context, &[u8]) -> Result<Held> + 'static) -> (Worker, Kept) {
    let kept = Kept::default();
    let keep = Rc::clone(&kept);
    *script().act.borrow_mut() = Some(Box::new(move |cx, bytes| {
        keep.borrow_mut().push(hold(cx, bytes)?);
        Ok(0)
    }));
    (open(), kept)
}

fn status(worker: &mut Worker) -> DocaStatus {
    worker.progress().remove(0).header().status
}

#[test]
fn held_bytes_outlive_the_answer_and_the_plugin() {
    let (mut worker, kept) = holding(|cx, bytes| cx.hold(&bytes[8..]));
    for value in 0..3 {
        worker.send(1, value, &command(ACT, value));
        assert_eq!(status(&mut worker), DocaStatus::SUCCESS);
    }
    worker.close();
    drop(worker);
    let values: Vec<Vec<u8>> = kept.borrow().iter().map(|held| held.to_vec()).collect();
    assert_eq!(values, [0_u64, 1, 2].map(|value| value.to_le_bytes().to_vec()));
}

#[test]
fn held_bytes_outlive_a_future_that_is_dropped_at_close() {
    let (mut worker, kept) = holding(|cx, bytes| Ok(cx.hold(bytes)?.clone()));
    worker.send(1, 1, &command(ACT_AND_WAIT, 77));
    worker.close();
    assert_eq!(*script().dropped.borrow(), ["future", "handler"]);
    assert_eq!(*kept.take().remove(0), command(ACT_AND_WAIT, 77));
}

#[test]
fn a_command_that_is_held_is_answered_later_when_there_is_no_memory() {
    let kept = Kept::default();
    let keep = Rc::clone(&kept);
    *script().act.borrow_mut() = Some(Box::new(move |cx, bytes| {
        keep.borrow_mut().push(cx.hold(bytes)?);
        Err(DocaError::DRIVER.into())
    }));
    let mut worker = open();
    script().no_memory.set(3);
    for value in 0..2 {
        worker.send(value, value, &command(ACT, value));
    }
    assert!(worker.progress().is_empty(), "memory does not exist yet");
    kept.borrow_mut().pop();
    let mut answers: Vec<_> =
        worker.progress().iter().map(|n| (n.dest_id(), n.header().status)).collect();
    answers.sort_unstable();
    assert_eq!(answers, [(0, DocaStatus::NO_MEMORY), (1, DocaStatus::NO_MEMORY)]);
    drop(worker);
    assert_eq!(*kept.take().remove(0), command(ACT, 0));
}
