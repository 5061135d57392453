//! Workers that cannot be reached, temporarily or permanently.

use super::*;

#[test]
fn a_failed_connection_is_reopened_and_the_worker_notified() {
    let mut asked = writable();
    asked.serve_gone(6);
    for _ in 0..3 {
        let lost = Ask { share: 6.into(), ..question(READ, 0, MOST_MOVED) };
        asked.ask_until(&lost, EVERY, DocaStatus::CONNECTION_RESET);
        let there = question(READ, 8, 8);
        asked.ask_until(&there, there.number.get(), DocaStatus::SUCCESS);
    }
}

#[test]
fn a_worker_is_notified_until_it_receives_and_its_requests_are_not_executed() {
    let mut asked = writable();
    asked.serve_gone(6);
    assert!(asked.ask(question(READ, 0, 8), b"").is_ok());
    assert_eq!(asked.answers.pause(), None);
    let nobody = context().build().unwrap().worker().unwrap();
    let address = nobody.address().unwrap();
    let there = asked.replace_address(address.as_bytes());
    drop(nobody);
    asked.send(&Ask { share: 6.into(), ..question(READ, 0, MOST_MOVED) }, b"");
    asked.until(|asked| !asked.is_connected() && asked.answers.pause().is_some());
    let add = question(MemoryAction::FETCH_ADD, 24, 8);
    asked.answers.state.borrow_mut().asked(add.as_bytes(), AmData::Eager(b""));
    assert_eq!(asked.word(3), 3, "its answer would be lost");
    let tried = |asked: &Asked| asked.answers.state.borrow().owed[&TOKEN].last_try();
    let (first, pause) = (tried(&asked), asked.answers.pause());
    // A slow machine may have tried several times.
    assert!(pause.is_some_and(|pause| pause <= Duration::from_secs(2)));
    asked.until(|asked| tried(asked) > first && asked.answers.pause().is_some());
    asked.replace_address(&there);
    asked.until_every();
    asked.until(|asked| asked.answers.pause().is_none());
    assert_eq!(asked.word(3), 3);
    asked.ask_until(&add, add.number.get(), DocaStatus::SUCCESS);
    assert_eq!(asked.word(3), 103);
}

#[test]
fn a_request_of_an_unknown_worker_is_not_executed_and_the_worker_notified() {
    let mut asked = Asked::unknown(Access::LOCAL_READ_WRITE | Access::PCI_READ_WRITE);
    let add = question(MemoryAction::FETCH_ADD, 24, 8);
    asked.send(&add, b"");
    asked.until(|asked| !asked.answers.state.borrow().owed.is_empty());
    assert_eq!((asked.word(3), asked.answers.pause()), (3, None));
    asked.introduce();
    // The worker has not received that yet and considers the answer lost.
    asked.answers.state.borrow_mut().asked(add.as_bytes(), AmData::Eager(b""));
    asked.until(|asked| asked.received.borrow().len() == 2);
    let mut received: Vec<u64> =
        asked.received.borrow().iter().map(|(it, _)| it.number.get()).collect();
    received.sort_unstable();
    assert_eq!(received, [add.number.get(), EVERY]);
    assert_eq!(asked.word(3), 3);
    asked.received.borrow_mut().clear();
    assert_eq!(asked.ask(add, b"").map(|(was, _)| was), Ok(3));
}

#[test]
fn a_worker_that_is_left_is_owed_nothing() {
    let mut asked = Asked::unknown(Access::PCI_READ_WRITE);
    asked.send(&question(READ, 0, 8), b"");
    asked.until(|asked| !asked.answers.state.borrow().owed.is_empty());
    let (done, mut over) = oneshot::channel();
    asked.answers.leave(TOKEN, done);
    asked.until(|_| over.try_recv() != Err(TryRecvError::Empty));
    assert!(asked.answers.state.borrow().owed.is_empty());
}
