//! Messages that no instance of this kit sends, of somebody who has the secrets of both ends: they
//! cost this instance at most.

use bytemuck::Zeroable;
use proptest::prelude::*;
use ucx::{AmFlags, Endpoint, Features, PeerAddress};

use super::*;
use crate::details::Details;
use crate::message::{CONTROL, Control, REQUEST, RESPONSE, Request, Response, Route};

/// Somebody beside a connection.
struct Stranger {
    worker: ucx::Worker,
    endpoint: Endpoint,
    /// Of messages to the second end.
    route: Route,
}

impl Stranger {
    fn new(one: &[u8], two: &[u8]) -> Stranger {
        let [one, two] = [one, two].map(|details| Details::read(details).unwrap());
        let builder = ucx::Context::builder(Features::AM | Features::WAKEUP);
        let context = builder.watched_shared_memory().build().unwrap();
        let worker = context.worker().unwrap();
        // SAFETY: the plugin's own address.
        let address = unsafe { PeerAddress::from_bytes(&two.address) }.unwrap();
        let endpoint = worker.endpoint().connect_peer(&address).unwrap();
        let route = Route { instance: two.instance, to: two.secret, from: one.secret };
        Stranger { worker, endpoint, route }
    }

    fn send(&self, id: u16, header: &[u8], data: &[u8]) {
        self.endpoint.am_send_with(id, header, data.to_vec(), AmFlags::NONE).detach();
    }

    fn progress(&self, domain: &Domain) {
        for _ in 0..200 {
            self.worker.progress();
            domain.progress();
        }
    }
}

/// Two ends, somebody beside them, and two others that must not notice.
fn run(attack: impl Fn(&Stranger, Remote), expected: Option<State>) {
    let (domain, workers) = workers();
    let ends = [0, 1].map(|at| End::started(&workers[at], ALL));
    let details = ends.map(|end| end.details());
    for (end, details) in ends.iter().zip(details.iter().rev()) {
        end.call(Connect { rdma: end.rdma, details }).unwrap();
    }
    let others = pair(&workers);
    let (source, target) = (others[0].share([7; 64], LOCAL), others[1].share([0; 64], ALL));
    let own = ends[1].share([5; 64], ALL);
    let stranger = Stranger::new(&details[0], &details[1]);
    attack(&stranger, at(&own, 0));
    stranger.progress(&domain);
    others[0].wait(others[0].write(at(&target, 0), &[source.range()])).unwrap();
    assert_eq!(target.bytes(), [7; 64]);
    if let Some(expected) = expected {
        until(&domain, "the state", || {
            stranger.worker.progress();
            ends[1].state() == expected
        });
    }
}

#[test]
fn messages_without_the_secrets_of_both_ends_do_nothing() {
    let attack = |stranger: &Stranger, remote: Remote| {
        let Route { instance, to, from } = stranger.route;
        for route in [
            Route { instance, to, from: from ^ 1 },
            Route { instance, to: to ^ 1, from },
            Route { instance: instance ^ 1, to, from },
            Route::zeroed(),
        ] {
            let request = Request { route, kind: 2, total: 8, remote, ..Request::zeroed() };
            stranger.send(REQUEST, bytemuck::bytes_of(&request), &[1; 8]);
            let response = Response { route, ..Response::zeroed() };
            stranger.send(RESPONSE, bytemuck::bytes_of(&response), &[]);
            for word in 0..4 {
                let control = Control { route, word, ..Control::zeroed() };
                stranger.send(CONTROL, bytemuck::bytes_of(&control), b"no address");
            }
        }
        for len in [0, 1, 23, 200] {
            for id in [CONTROL, REQUEST, RESPONSE] {
                stranger.send(id, &vec![0xff; len], b"?");
            }
        }
    };
    run(attack, Some(State::Connected));
}

#[test]
fn operations_that_there_cannot_be_end_the_connection() {
    type Change = fn(&mut Request);
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
        let attack = |stranger: &Stranger, remote: Remote| {
            let route = stranger.route;
            let mut request = Request { route, kind: 2, total: 8, remote, ..Request::zeroed() };
            change(&mut request);
            stranger.send(REQUEST, bytemuck::bytes_of(&request), data);
        };
        run(attack, Some(State::Error));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn no_message_harms_another_connection(
        messages in prop::collection::vec(
            (0..3_u16, any::<[u64; 9]>(), 0..8_u64, prop::collection::vec(any::<u8>(), 0..300)),
            1..30,
        ),
    ) {
        run(|stranger, remote| {
            for (id, words, small, data) in &messages {
                let (route, number) = (stranger.route, small % 4);
                let request = Request {
                    route,
                    number,
                    kind: (words[0] % 8) as u32,
                    total: [8, 64, data.len() as u64, words[1]][(words[2] % 4) as usize],
                    at: [0, 8, words[3]][(words[4] % 3) as usize],
                    remote: if words[5] % 4 > 0 { remote } else { Remote::zeroed() },
                    ..Request::zeroed()
                };
                let response = Response {
                    route,
                    number,
                    at: words[3] % 9,
                    code: DocaError((words[6] % 40) as u32),
                    has_bytes: (words[7] % 2) as u32,
                    result: words[8],
                };
                match *id {
                    CONTROL => {
                        let control = Control { route, word: words[0] % 4, ..Control::zeroed() };
                        stranger.send(CONTROL, bytemuck::bytes_of(&control), data);
                    }
                    REQUEST => stranger.send(REQUEST, bytemuck::bytes_of(&request), data),
                    _ => stranger.send(RESPONSE, bytemuck::bytes_of(&response), data),
                }
            }
        }, None);
    }
}
