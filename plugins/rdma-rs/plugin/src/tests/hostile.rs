//! Malformed messages with the secrets of both ends: they affect at most this instance.

use std::rc::Rc;

use bytemuck::Zeroable;
use proptest::prelude::*;
use ucx::{AmFlags, Features, PeerAddress};
use urom_abi::protocol::PeerMessage;
use urom_pdk::peers::Peer;

use super::*;
use crate::details::Details;
use crate::message::{Answer, Ask, Bye, Bytes, Hello, PeerRequest, Route};

const VERSION: u64 = <Bye as PeerMessage>::VERSION;

struct UnknownPeer {
    worker: ucx::Worker,
    peer: Peer,
    route: Route,
}

impl UnknownPeer {
    fn new(one: &[u8], two: &[u8]) -> UnknownPeer {
        let [one, two] = [one, two].map(|details| Details::read(details).unwrap());
        let builder = ucx::Context::builder(Features::AM | Features::WAKEUP);
        let context = builder.watched_shared_memory().build().unwrap();
        let worker = context.worker().unwrap();
        // SAFETY: the plugin's own address.
        let address = unsafe { PeerAddress::from_bytes(two.address) }.unwrap();
        let endpoint = worker.endpoint().connect_peer(&address).unwrap();
        let peer = Peer::from(Rc::new(endpoint));
        let route = Route { instance: two.instance, to: two.secret, from: one.secret };
        UnknownPeer { worker, peer, route }
    }

    fn send(&self, message: &impl PeerMessage, data: &[u8]) {
        self.peer.begin_send(message, data.to_vec(), AmFlags::NONE).unwrap().detach();
    }

    fn send_wrong(&self, message: &impl PeerMessage, len: usize, end: &[u8]) {
        let mut header = vec![0; message.encoded_len().unwrap()];
        message.encode(&mut header).unwrap();
        let message = [&VERSION.to_le_bytes(), &header[..len.min(header.len())], end].concat();
        let endpoint = self.peer.endpoint();
        endpoint.am_send_with(0x75, &message, b"?".to_vec(), AmFlags::NONE).detach();
    }

    fn progress(&self, domain: &Domain) {
        for _ in 0..200 {
            self.worker.progress();
            domain.progress();
        }
    }
}

/// Runs an attack on two ends, and checks that two others are not affected.
fn run(attack: impl Fn(&UnknownPeer, Remote), expected: Option<State>) {
    let (domain, workers) = workers();
    let ends = [0, 1].map(|at| End::started(&workers[at], ALL));
    let details = ends.map(|end| end.details());
    for (end, details) in ends.iter().zip(details.iter().rev()) {
        end.call(Connect { rdma: end.rdma, details }).unwrap();
    }
    let others = pair(&workers);
    let (source, target) = (others[0].share([7; 64], LOCAL), others[1].share([0; 64], ALL));
    let own = ends[1].share([5; 64], ALL);
    let unknown = UnknownPeer::new(&details[0], &details[1]);
    attack(&unknown, at(&own, 0));
    unknown.progress(&domain);
    others[0].wait(others[0].write(at(&target, 0), &[source.range()])).unwrap();
    assert_eq!(target.bytes(), [7; 64]);
    if let Some(expected) = expected {
        until(&domain, "the state", || {
            unknown.worker.progress();
            ends[1].state() == expected
        });
    }
}

#[test]
fn messages_without_the_secrets_of_both_ends_do_nothing() {
    let attack = |unknown: &UnknownPeer, remote: Remote| {
        let Route { instance, to, from } = unknown.route;
        for route in [
            Route { instance, to, from: from ^ 1 },
            Route { instance, to: to ^ 1, from },
            Route { instance: instance ^ 1, to, from },
            Route::zeroed(),
        ] {
            let request = PeerRequest { route, kind: 2, total: 8, remote, ..PeerRequest::zeroed() };
            unknown.send(&Ask { request }, &[1; 8]);
            unknown.send(&Bytes { route, number: 0, at: 0 }, &[]);
            unknown.send(&Answer { route, number: 0, result: 0, code: 0, why: b"" }, &[]);
            unknown.send(&Hello { route, sender: 0 }, b"no address");
            unknown.send(&Hello { route, sender: 0 }, &[]);
            unknown.send(&Bye { route, why: b"bye" }, &[]);
        }
        for len in [0, 1, 23, 200] {
            let route = unknown.route;
            unknown.send_wrong(
                &Ask { request: PeerRequest { route, ..PeerRequest::zeroed() } },
                len,
                b"?",
            );
            unknown.send_wrong(&Bye { route, why: b"bye" }, len, &[0xff; 9]);
            unknown.send_wrong(&Hello { route, sender: 0 }, 0, &vec![0xff; len]);
        }
    };
    run(attack, Some(State::Connected));
}

#[test]
fn operations_that_there_cannot_be_end_the_connection() {
    type Change = fn(&mut PeerRequest);
    let wrong: [(Change, &[u8]); 8] = [
        (|request| request.kind = 7, &[1; 8]),
        (|request| request.kind = u32::MAX, &[1; 8]),
        (|request| request.number = u64::MAX, &[1; 8]),
        (|request| request.total = u64::MAX, &[1; 8]),
        (|request| request.at = u64::MAX - 3, &[1; 8]),
        (|request| request.at = 1, &[1; 8]),
        (|request| request.kind = 6, &[1; 8]),
        // A read, with the lengths of another one.
        (|request| request.kind = 4, &[1; 16]),
    ];
    for (change, data) in wrong {
        let attack = |unknown: &UnknownPeer, remote: Remote| {
            let mut request = PeerRequest { kind: 2, total: 8, remote, ..PeerRequest::zeroed() };
            request.route = unknown.route;
            change(&mut request);
            unknown.send(&Ask { request }, data);
        };
        run(attack, Some(State::Error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_message_harms_another_connection(
        messages in prop::collection::vec(
            (0..9_u16, any::<[u64; 9]>(), 0..8_u64, prop::collection::vec(any::<u8>(), 0..300)),
            1..30,
        ),
    ) {
        run(|unknown, remote| {
            for (id, words, small, data) in &messages {
                let (route, number) = (unknown.route, small % 4);
                let request = PeerRequest {
                    route,
                    number,
                    kind: (words[0] % 8) as u32,
                    total: [8, 64, data.len() as u64, words[1]][(words[2] % 4) as usize],
                    at: [0, 8, words[3]][(words[4] % 3) as usize],
                    remote: if words[5] % 4 > 0 { remote } else { Remote::zeroed() },
                    ..PeerRequest::zeroed()
                };
                let (at, result) = (words[3] % 9, words[8]);
                let code = (words[6] % 2 * words[7] % 40) as u32;
                match *id {
                    0 => unknown.send(&Hello { route, sender: words[0] }, data),
                    1 => unknown.send(&Hello { route, sender: 0 }, &[]),
                    2 => unknown.send(&Bye { route, why: data }, &[]),
                    3 => unknown.send(&Bytes { route, number, at }, data),
                    4 => unknown.send(&Answer { route, number, result, code, why: data }, &[]),
                    _ => unknown.send(&Ask { request }, data),
                }
            }
        }, None);
    }
}
