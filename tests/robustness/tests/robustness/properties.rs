//! Round trips of arbitrary values of every message of every protocol.

mod commands;
mod notifications;

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};
use robustness::check;
use robustness::incoming::{Arrived, living};
use robustness::subject::{Answered, Sent, written};
use urom_abi::Payload;
use urom_pdk::test_util::{Seed, seeds};

/// Number of values of each message. Failures become tests, not files.
fn config() -> ProptestConfig {
    let cases = if cfg!(miri) { 2 } else { 256 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

/// Payloads: mostly short, sometimes longer than a message's default limit.
fn bytes() -> impl Strategy<Value = Vec<u8>> {
    let long = if cfg!(miri) { 100 } else { 5000 };
    prop_oneof![1 => Just(Vec::new()), 5 => vec(any::<u8>(), 1..64), 1 => vec(any::<u8>(), 64..long)]
}

fn seen(kind: impl Fn(&Seed) -> &'static str) -> Vec<&'static str> {
    let mut kinds = BTreeSet::new();
    let mut runner = TestRunner::new_with_rng(
        ProptestConfig::default(),
        TestRng::deterministic_rng(RngAlgorithm::ChaCha),
    );
    for _ in 0..500 {
        let seed = seeds().new_tree(&mut runner).expect("a seed").current();
        kinds.insert(kind(&seed));
    }
    kinds.into_iter().collect()
}

/// A written command is read as the same value, and fills exactly its announced length.
fn command<C: Sent>(command: C) {
    let bytes = written(command.encoded_len(), |out| command.encode(out));
    let mut long = vec![0xee; bytes.len() + 9];
    assert_eq!(command.encode(&mut long), Ok(bytes.len()));
    assert_eq!(long, [&bytes[..], &[0xee; 9]].concat(), "nothing is written behind the message");
    command.is_read_from(&bytes);
    check::command(C::SUBJECT, &bytes);
    let again = (C::SUBJECT.command)(&bytes).expect("it was read");
    assert_eq!(again, bytes);
}

/// A host reads the same notification as the plugin's answer, by copy and in place.
fn notification<R: Answered>(reply: R, echo: u64) {
    let echoed = R::echo(echo);
    let desc = reply.clone().into_descriptor(&echoed).expect("the C heap suffices");
    let bytes = desc.payload().to_vec();
    assert_eq!(desc.header().len, bytes.len() as u64);
    check::notification(R::SUBJECT, &bytes);
    assert_eq!((R::SUBJECT.notification)(&bytes).as_deref(), Ok(&bytes[..]));
    assert_eq!(R::decode(&*robustness::exact(&bytes), &echoed).as_ref(), Ok(&reply));
    let in_place = R::decode(Arrived::new(&bytes), &echoed);
    assert_eq!(in_place.as_ref(), Ok(&reply));
    let clone = in_place.clone();
    drop(in_place);
    assert_eq!(living(), 0, "a clone is a copy");
    assert_eq!(clone, Ok(reply));
}

/// The payload's memory does not change the notification; only foreign memory is copied.
fn payload<R: Answered>(
    content: &[u8],
    echo: u64,
    make: impl Fn(Payload) -> R,
    own: impl Fn(usize) -> Result<Payload, urom_abi::wire::EncodeError>,
) {
    let echo = R::echo(echo);
    let fixed = R::SUBJECT.description.notifications.len;
    let of_heap = make(Payload::from(content)).into_descriptor(&echo).expect("the C heap suffices");
    for more in [0, 1, 33] {
        let mut buffer = own(content.len() + more).expect("the C heap suffices");
        assert!(buffer.iter().all(|byte| *byte == 0));
        buffer[..content.len()].copy_from_slice(content);
        buffer.truncate(content.len());
        let at = buffer.as_ptr();
        let desc = make(buffer).into_descriptor(&echo).expect("the C heap suffices");
        assert_eq!(desc.payload(), of_heap.payload());
        if !content.is_empty() {
            assert_eq!(
                desc.payload()[fixed..].as_ptr(),
                at,
                "the payload is where it was received"
            );
        }
    }
    // A payload of another notification, or a part of a payload, is copied.
    let mut part = own(content.len() + 5).expect("the C heap suffices");
    part.advance(5);
    part.copy_from_slice(content);
    let desc = make(part).into_descriptor(&echo).expect("the C heap suffices");
    assert_eq!(desc.payload(), of_heap.payload());
}
