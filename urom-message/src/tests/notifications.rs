//! Decoded notifications, compared with the typed decoders.

use urom_abi::protocol::Reply;
use urom_abi::{Payload, Received};

use super::*;

#[test]
fn notifications_are_read_as_the_typed_decoder_reads_them() {
    let decoded =
        answered(GRAPH, graph::LoopbackDone { data: 42 }, &graph::Loopback { data: 42 }.echo());
    assert_eq!(
        (decoded.variant.name, &decoded.fields[..]),
        ("LoopbackDone", &[("data", Datum::Int(42))][..])
    );

    let recv =
        sandbox::TagRecv { context: 3, buffer: 0, count: 9, tag: 0, tag_mask: 0, memh_id: 0 }
            .echo();
    let answer = |data| sandbox::TagReceived { data, sender_tag: 6, status: -2 };
    let inline = answered(SANDBOX, answer(Received::Inline(Payload::from(&b"hi"[..]))), &recv);
    let common =
        [("context", Datum::Int(3)), ("sender_tag", Datum::Int(6)), ("status", Datum::Int(-2))];
    assert_eq!(inline.fields[..3], common);
    assert_eq!(inline.fields[3], ("data", Datum::Bytes(b"hi".into())));
    let registered = answered(SANDBOX, answer(Received::Registered { len: 8192 }), &recv);
    assert_eq!(registered.fields[3], ("data", Datum::Registered(8192)));

    let echo = rdmo::ClientInit { id: 0, addr: &[] }.echo();
    let decoded =
        answered(RDMO, rdmo::ClientInitialized { addr: Payload::from(&[0xff; 3][..]) }, &echo);
    assert_eq!(decoded.fields, [("addr", Datum::Bytes(vec![0xff; 3]))]);

    let echo = ucc::LibDestroy { dpu_worker_id: 9 }.echo();
    let decoded = answered(UCC, ucc::LibDestroyed, &echo);
    assert_eq!(decoded.fields, [("dpu_worker_id", Datum::Int(9))]);
}

#[test]
fn a_second_tag_counts_when_its_message_is_expected() {
    let map = |tag: u8| {
        let mut bytes = vec![0; 48];
        (bytes[0], bytes[16]) = (tag, 85);
        bytes
    };
    let expected =
        SANDBOX.notifications.variants.iter().find(|variant| variant.name == "MemMapped");
    let name = |expected, bytes: &[u8]| {
        decode(&SANDBOX.notifications, expected, bytes).unwrap().variant.name
    };
    assert_eq!(name(expected, &map(1)), "MemMapped");
    assert_eq!(name(None, &map(1)), "TagSent");
    let mut received = map(2);
    received[16] = 0;
    assert_eq!(name(expected, &received), "TagReceived");
}

#[test]
fn notifications_that_are_cut_or_too_long_are_said_to_be() {
    let recv =
        sandbox::TagRecv { context: 3, buffer: 0, count: 9, tag: 0, tag_mask: 0, memh_id: 0 }
            .echo();
    let data = Received::Inline(Payload::from(&b"hello"[..]));
    let whole =
        sandbox::TagReceived { data, sender_tag: 6, status: 0 }.into_descriptor(&recv).unwrap();
    let whole = whole.payload();
    for len in 0..whole.len() {
        let problems = match decode(&SANDBOX.notifications, None, &whole[..len]) {
            Ok(decoded) => decoded.problems,
            Err(problem) => vec![problem],
        };
        assert_eq!(problems.len(), 1, "{len} bytes: {problems:?}");
    }
    let longer = [whole, &[0]].concat();
    let decoded = decode(&SANDBOX.notifications, None, &longer).unwrap();
    assert_eq!(decoded.problems, ["1 byte more than the message's fields call for"]);
    let mut endless = whole.to_vec();
    endless[24..32].fill(0xff);
    let decoded = decode(&SANDBOX.notifications, None, &endless).unwrap();
    assert!(
        decoded.problems[0].starts_with("data: 18446744073709551615 elements"),
        "{:?}",
        decoded.problems
    );
    let unknown = decode(&SANDBOX.notifications, None, &[9; 48]).unwrap_err();
    assert!(unknown.contains("not among 0 (MemMapped), 1 (TagSent)"), "{unknown}");
}

#[test]
fn an_answer_that_does_not_repeat_its_command_is_found() {
    let sent = plainly(SANDBOX, "TagSend", "context=7 dest=1 tag=2");
    let command = command(&SANDBOX.commands, "TagSend").unwrap();
    let mut answer = vec![0; 48];
    answer[0] = 1;
    let differs = |answer: &[u8]| {
        let sent = (&SANDBOX.commands, command, &sent[..]);
        not_echoed(
            sent,
            (&SANDBOX.notifications, SANDBOX.notifications.find(answer).unwrap(), answer),
        )
    };
    assert_eq!(differs(&answer), ["context"]);
    answer[8] = 7;
    assert_eq!(differs(&answer), [""; 0]);
}
