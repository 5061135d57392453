//! Sends of memory for workers.

use super::super::session::{Claim, MOST_RECEIVERS, Receiver};
use super::*;

/// The receiver exists but does not receive, so a long send waits.
#[test]
fn a_send_without_a_receive_ends_when_the_worker_is_left() {
    let mut asked = writable();
    let long = vec![7_u8; 4 << 20];
    asked.serve(6, long.as_ptr(), 4 << 20);
    let receiver = context().build().unwrap().worker().unwrap();
    let address = receiver.address().unwrap().as_bytes().to_vec();
    let send = question(MemoryAction::TAG_SEND, 0, 4 << 20);
    asked.send(&Ask { share: 6.into(), ..send }, &address);
    asked.until(|asked| {
        receiver.progress();
        asked.answers.state.borrow().sends.len() == 1
    });
    let (notify, notified) = std::sync::mpsc::channel();
    asked.answers.forget(TOKEN, 6, Some(Box::new(move || notify.send(()).unwrap())));
    asked.answers.turn(|| false);
    assert!(notified.try_recv().is_err(), "UCX uses it");
    let (done, mut over) = oneshot::channel();
    asked.answers.leave(TOKEN, done);
    asked.until(|_| {
        receiver.progress();
        notified.try_recv().is_ok()
    });
    asked.until(|_| over.try_recv() != Err(TryRecvError::Empty));
    assert!(asked.answers.state.borrow().sends.is_empty());
    drop(long);
}

#[test]
fn a_receiver_is_remembered_as_long_as_a_send_goes_there() {
    let mut asked = writable();
    let long = vec![7_u8; 4 << 20];
    asked.serve(6, long.as_ptr(), 4 << 20);
    let [hung, other] = [(), ()].map(|()| context().build().unwrap().worker().unwrap());
    let address = hung.address().unwrap().as_bytes().to_vec();
    let send = question(MemoryAction::TAG_SEND, 0, 4 << 20);
    asked.send(&Ask { share: 6.into(), ..send }, &address);
    asked.until(|asked| {
        hung.progress();
        asked.answers.state.borrow().sends.len() == 1
    });
    {
        let mut state = asked.answers.state.borrow_mut();
        let sender = state.sender.get().unwrap().clone();
        let receivers = &mut state.sessions.get_mut(&TOKEN).unwrap().receivers;
        for number in 1..MOST_RECEIVERS {
            let endpoint = connect(&sender, other.address().unwrap().as_bytes());
            let receiver = Receiver { endpoint, claim: Claim::default() };
            receivers.insert(number.to_ne_bytes().to_vec(), receiver);
        }
    }
    let receivers = |asked: &Asked| asked.answers.state.borrow().sessions[&TOKEN].receivers.len();
    let addresses = [1_usize.to_ne_bytes().to_vec(), other.address().unwrap().as_bytes().to_vec()];
    // A known receiver does not evict others.
    for (address, left) in addresses.iter().zip([MOST_RECEIVERS, 2]) {
        asked.send(&question(MemoryAction::TAG_SEND, 8, 8), address);
        asked.until(|asked| {
            hung.progress();
            other.progress();
            asked.received.borrow_mut().pop().is_some()
        });
        assert_eq!(receivers(&asked), left);
    }
    let (notify, mut over) = oneshot::channel();
    asked.answers.leave(TOKEN, notify);
    asked.until(|_| {
        hung.progress();
        over.try_recv() != Err(TryRecvError::Empty)
    });
}

/// Plugins' UCX workers have default settings, such as TCP segment lengths.
#[test]
fn sends_of_any_length_arrive_at_a_receiver_with_other_settings() {
    const LONGEST: usize = 1 << 20;
    let mut asked = writable();
    let bytes: Vec<u8> = (0..LONGEST).map(|at| (at % 251) as u8).collect();
    asked.serve(6, bytes.as_ptr(), LONGEST as u64);
    let features = ucx::Features::TAG;
    for config in [&[][..], &[("TLS", "tcp")]] {
        let builder = ucx::Context::builder(features);
        let builder = config.iter().fold(builder, |it, (name, value)| it.config(*name, *value));
        let receiver = builder.build().unwrap().worker().unwrap();
        let address = receiver.address().unwrap().as_bytes().to_vec();
        for len in [1, 8000, 8192, 9000, 16_000, 40_000, 100_000, 240_000, LONGEST] {
            let received = receiver.tag_recv(100, u64::MAX, vec![0; len]);
            let send = question(MemoryAction::TAG_SEND, 0, len as u64);
            asked.send(&Ask { share: 6.into(), ..send }, &address);
            asked.until(|asked| {
                receiver.progress();
                !asked.received.borrow().is_empty() && received.is_done()
            });
            asked.received.borrow_mut().clear();
            let (info, got) = received.into_done().map_err(drop).unwrap();
            assert!(info.is_ok() && got == bytes[..len], "{len} {config:?}");
        }
    }
}
