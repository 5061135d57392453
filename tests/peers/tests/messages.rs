//! Typed messages between plugins: valid and malformed messages.

mod noting;

use noting::{Noted, Say, Sent, domain};
use ucx::Features;
use urom_pdk::DocaError;

#[test]
fn every_kind_of_message_arrives_with_its_data() {
    let (domain, [first, second]) = domain();
    let long = vec![7; 1 << 20];
    for data in [&[][..], b"short", &long] {
        first
            .call(Say { to: 1, number: 3, text: "hello", data: &data[..data.len().min(4000)] })
            .unwrap();
    }
    first.call(Say { to: 0, number: 4, text: "", data: b"myself" }).unwrap();
    while first.call(Noted {}).unwrap().count + second.call(Noted {}).unwrap().count < 4 {
        domain.progress();
    }
    let noted = second.call(Noted {}).unwrap();
    assert_eq!((noted.count, noted.last), (3, 3));
    assert_eq!((first.call(Noted {}).unwrap().last), 4);
}

/// Sends a header as an active message to member 1, then a valid message: only the second is
/// handled.
fn refused(header: &[u8]) {
    let (domain, [_first, second]) = domain();
    let context = ucx::Context::builder(Features::AM).watched_shared_memory().build().unwrap();
    let worker = context.worker().unwrap();
    let address = second.address();
    // SAFETY: an address of this process.
    let address = unsafe { ucx::PeerAddress::from_bytes(&address) }.unwrap();
    let endpoint = worker.endpoint().connect_peer(&address).unwrap();
    endpoint.am_send(0x75, header, ()).detach();
    let before = second.call(Noted {}).unwrap();
    // Messages of one sender without data keep their order.
    let mut good = 1_u64.to_le_bytes().to_vec();
    let mut message = [0; 64];
    let len = noting::Message::Note { number: 77 }.encode(&mut message).unwrap();
    good.extend_from_slice(&message[..len]);
    endpoint.am_send(0x75, &good, ()).detach();
    loop {
        worker.progress();
        domain.progress();
        let noted = second.call(Noted {}).unwrap();
        if noted.last == 77 {
            assert_eq!(noted.count, before.count + 1, "the bad one was not handled");
            break;
        }
    }
}

#[test]
fn messages_that_are_cut_of_another_version_or_kind_are_refused() {
    let with = |version: u64, message: &[u8]| [&version.to_le_bytes()[..], message].concat();
    let mut note = [0; 64];
    let len = noting::Message::Note { number: 1 }.encode(&mut note).unwrap();
    for header in [
        // Without a version.
        vec![],
        vec![1; 7],
        // Wrong version.
        with(2, &note[..len]),
        with(u64::MAX, &note[..len]),
        // Truncated and extended.
        with(1, &[]),
        with(1, &note[..len - 1]),
        with(1, &[&note[..len], &[0]].concat()),
        with(1, &[0xff; 64]),
    ] {
        refused(&header);
    }
}

#[test]
fn a_message_that_is_too_long_is_an_error_of_its_sender() {
    let (_domain, [first, _second]) = domain();
    let text = "x".repeat(1 << 20);
    let sent = first.send(Say { to: 1, number: 1, text: &text, data: &[] });
    while first.failure(&sent).is_none() {
        first.progress();
    }
    assert!(first.failure(&sent).unwrap().contains("send its bytes as data"));
    assert_eq!(first.wait::<Sent>(sent).unwrap_err(), DocaError::TOO_BIG);
}

#[test]
fn a_handler_that_fails_or_panics_ends_its_own_message_only() {
    let (domain, [first, second]) = domain();
    for number in [noting::FAILS, noting::PANICS, noting::WAITS, 5] {
        first.call(Say { to: 1, number, text: "", data: &[] }).unwrap();
    }
    while second.call(Noted {}).unwrap().last != 5 {
        domain.progress();
    }
    // The failed messages were not recorded. The pending message is dropped at close.
    assert_eq!(second.call(Noted {}).unwrap().count, 1);
}

#[test]
fn a_lost_member_ends_what_waits_for_it_with_one_error() {
    let (domain, [first, second]) = domain();
    let waits = first.send(noting::WaitFor { member: 1 });
    first.progress();
    assert_eq!(first.in_flight(), 1);
    second.close();
    while first.failure(&waits).is_none() {
        domain.progress();
    }
    assert!(first.failure(&waits).unwrap().contains("the peer is lost"));
    assert_eq!(first.wait(waits).unwrap_err(), DocaError::CONNECTION_RESET);
}

#[test]
fn a_domain_that_stops_in_the_middle_ends_look_ups_and_leaves_peers_connected() {
    let (domain, [first, second]) = domain();
    let waits = first.send(noting::WaitFor { member: 1 });
    let sent = first.send(Say { to: 1, number: 8, text: "", data: &[1; 4000] });
    first.progress();
    [0, 1].into_iter().for_each(|member| domain.remove(member));
    first.wait::<Sent>(sent).unwrap();
    while second.call(Noted {}).unwrap().last != 8 {
        domain.progress();
    }
    let late = first.call(Say { to: 1, number: 9, text: "", data: &[] });
    assert_eq!(late.map(drop).unwrap_err(), DocaError::NOT_FOUND);
    assert_eq!(first.in_flight(), 1, "the first command waits for the member");
    second.close();
    while first.failure(&waits).is_none() {
        domain.progress();
    }
    assert_eq!(first.wait(waits).unwrap_err(), DocaError::CONNECTION_RESET);
}
