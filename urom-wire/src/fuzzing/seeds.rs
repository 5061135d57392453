//! Real messages as seeds of the targets.

use std::sync::Arc;

use urom_abi::DocaError;

use crate::plain::Plain;

use super::corpus::{Seeds, encoded};
use crate::control::*;
use crate::domain::{Address, Member, Participant, Segment, Verdict};
use crate::hello::{Hello, PROTOCOL, ProtocolRange, Role};

fn hung() -> HungCall {
    HungCall { plugin: "one".to_owned(), method: Method::WorkerCmd, seconds: 5 }
}

pub(super) fn of_control() -> Seeds {
    let failure = || Failure::new(DocaError::TIME_OUT, "why");
    let worker = |id, env: Option<Vec<String>>| StartWorker {
        id,
        plugins: 3,
        gid: 4,
        env,
        cpus: Some("0-3".to_owned()),
    };
    let env = Some(vec!["A=b".to_owned(), "C=".to_owned()]);
    let welcome = DaemonToHost::Welcome {
        plugins: vec![PluginEntry {
            id: 1,
            build: PluginBuild { version: 2, fingerprint: None },
            name: "one".to_owned(),
        }],
        cpus: "0-3".to_owned(),
        max_message: 4096,
    };
    let address = "127.0.0.1:5000".parse().unwrap();
    let attach = Attach {
        token: 7,
        max_inflight: 32,
        max_message: 4096,
        program: "host, process 7".to_owned(),
    };
    let plugins = vec![PluginAddress {
        name: "one".to_owned(),
        build: PluginBuild { version: 2, fingerprint: Some(6) },
        address: vec![8; 9],
    }];
    let socket = HandoverAddress { address: b"/run/urom/7".to_vec(), machine: 7 };
    let (ucx_address, max_message) = (vec![2; 50], 4096);
    let attached = WorkerToHost::Attached { socket, ucx_address, channel: 4, max_message, plugins };
    let domain = |word| encoded(&HostToWorker::Domain { domain: 5, word });
    let offer = |location| {
        let offer = MemoryOffer {
            share: 2,
            memory: 6,
            address: 0x7000,
            len: 4096,
            access: 33,
            location,
            ucx_address: vec![3; 40],
        };
        encoded(&HostToWorker::Memory(MemoryWord::Share(offer)))
    };
    let memory = |answer| encoded(&WorkerToHost::Memory(answer));
    let host_to_daemon = [
        encoded(&HostToDaemon::Ping),
        encoded(&HostToDaemon::Start { request: 1, worker: worker(u64::MAX, env) }),
        encoded(&HostToDaemon::Start { request: 2, worker: worker(7, None) }),
        encoded(&HostToDaemon::Group { request: 3, gid: 4 }),
        encoded(&HostToDaemon::Describe { request: 4, plugin: 1 }),
    ];
    let daemon_to_host = [
        encoded(&welcome),
        encoded(&DaemonToHost::Started { request: 1, id: 7, address, token: 7 }),
        encoded(&DaemonToHost::Group { request: 3, ids: vec![7, u64::MAX] }),
        encoded(&DaemonToHost::Failed { request: 2, failure: failure() }),
        encoded(&DaemonToHost::Description { request: 4, description: Arc::from([1, 2, 3]) }),
    ];
    let host_to_worker = [
        encoded(&HostToWorker::Attach(attach)),
        domain(DomainWord::Start { len: 3 }),
        domain(DomainWord::Piece(vec![1, 2, 3])),
        domain(DomainWord::End),
        encoded(&HostToWorker::Reach(Reach { ucx_address: vec![1; 9], channel: 3 })),
        offer(MemoryLocation::Handed { offset: 4096 }),
        offer(MemoryLocation::Process),
        offer(MemoryLocation::Network),
        encoded(&HostToWorker::Memory(MemoryWord::End { memory: 6, share: 2, after: 1 })),
        encoded(&HostToWorker::Memory(MemoryWord::Leave)),
    ];
    let worker_to_host = [
        encoded(&attached),
        encoded(&WorkerToHost::DomainStarted { domain: 5, result: Err(failure()) }),
        encoded(&WorkerToHost::DomainEnded { domain: 5 }),
        encoded(&WorkerToHost::Refused(failure())),
        encoded(&WorkerToHost::Health(Some(hung()))),
        encoded(&WorkerToHost::Health(None)),
        memory(MemoryAnswer::Shared { share: 2, result: Err(failure()) }),
        memory(MemoryAnswer::Shared {
            share: 2,
            result: Ok(SharedBy { path: 2, ucx_address: vec![5; 40] }),
        }),
        memory(MemoryAnswer::Ended { share: 2 }),
    ];
    let daemon_to_worker = [
        encoded(&DaemonToWorker::Expect { token: 7 }),
        encoded(&DaemonToWorker::Forget { token: 7 }),
        encoded(&DaemonToWorker::Open { secrets: vec![postcard::from_bytes(&[1; 32]).unwrap()] }),
        encoded(&DaemonToWorker::Stop),
    ];
    let worker_to_daemon = [
        encoded(&WorkerToDaemon::Ready { port: 5000 }),
        encoded(&WorkerToDaemon::Failed(failure())),
        encoded(&WorkerToDaemon::Expected { token: 7 }),
        encoded(&WorkerToDaemon::Empty),
    ];
    let all: [&[Vec<u8>]; 6] = [
        &host_to_daemon,
        &daemon_to_host,
        &host_to_worker,
        &worker_to_host,
        &daemon_to_worker,
        &worker_to_daemon,
    ];
    let mut seeds = Vec::new();
    for (choice, messages) in all.into_iter().enumerate() {
        for (at, message) in messages.iter().enumerate() {
            seeds.push((format!("{choice}-{at}"), [&[choice as u8], &message[..]].concat()));
        }
        seeds.push((format!("{choice}-all"), [&[choice as u8], &messages.concat()[..]].concat()));
    }
    seeds
}

pub(super) fn of_domain() -> Seeds {
    let address = |plugin, address| Address { plugin, address };
    let segment = |va, len| Segment { va, len, memh: b"handle", mkey: b"key" };
    let one = Participant {
        members: vec![Member {
            id: 1,
            addresses: vec![address("one", b"here"), address("two", b"")],
        }],
        segments: vec![segment(0x1000, 64), segment(1, u64::MAX)],
    };
    let two = Participant {
        members: vec![Member { id: 2, addresses: Vec::new() }],
        segments: Vec::new(),
    };
    let failed = Failure::new(DocaError::TIME_OUT, "why");
    vec![
        ("one".to_owned(), one.encode()),
        ("two".to_owned(), [one.encode(), two.encode()].concat()),
        ("twice".to_owned(), [two.encode(), two.encode()].concat()),
        ("size".to_owned(), Verdict::new(Ok(77)).as_bytes().to_vec()),
        ("verdict".to_owned(), Verdict::new(Err(&failed)).as_bytes().to_vec()),
    ]
}

pub(super) fn of_hello() -> Seeds {
    let roles = [Role::Host, Role::Daemon, Role::Worker];
    let ucx = ucx::Version { major: 1, minor: 22, patch: 0 };
    let hello = |(at, role)| {
        let hello = Hello::with_ucx(role, ucx);
        let input = |keyed: u8| {
            [&[(2 * at as u8) | (keyed << 7)], hello.as_bytes(), &[keyed; 33], &[7; 32]].concat()
        };
        [(format!("{role}"), input(0)), (format!("{role}-key"), input(1))]
    };
    let other = |name: &str, oldest, newest| {
        let hello = Hello::with_ucx(Role::Daemon, ucx);
        let hello = hello.with_protocols(ProtocolRange { oldest, newest });
        (name.to_owned(), [&[0], hello.as_bytes(), &[0; 33]].concat())
    };
    let others = [
        other("before-ranges", 14, 0),
        other("newer", PROTOCOL, PROTOCOL + 1),
        other("too-old", 13, 0),
        other("too-new", PROTOCOL + 1, PROTOCOL + 2),
        other("inverted", 14, 1),
    ];
    roles.into_iter().enumerate().flat_map(hello).chain(others).collect()
}

/// The ends' keys, and the wire's changes.
pub(super) fn of_handshake() -> Seeds {
    let (same, other, one) = (2 + 8, 2 + 16, 2);
    let seed = |name: &str, bytes: &[u8]| (name.to_owned(), bytes.to_vec());
    vec![
        seed("no-key", &[0]),
        seed("no-key-changed", &[1, 0, 4, 1]),
        seed("same", &[same]),
        seed("same-worker", &[same | 1]),
        seed("other", &[other]),
        seed("one-sided", &[one]),
        seed("hello-changed", &[same, 0, 16, 1]),
        seed("opening-changed", &[same, 1, 30, 1]),
        seed("proof-changed", &[same, 0, 60, 1]),
        seed("cut", &[same, 3, 70, 0]),
        seed("asked-for-none", &[same, 0, 20, 1, 1, 20, 1]),
    ]
}

pub(super) fn of_handover() -> Seeds {
    let slip = [7; 24];
    let seed = |name: &str, how: u8, cut: u8, bytes: &[u8]| {
        (name.to_owned(), [&[how, cut], bytes].concat())
    };
    vec![
        seed("bare", 0, 255, &slip),
        seed("with-one", 1, 255, &slip),
        seed("with-two", 2, 255, &slip),
        seed("with-three", 3, 255, &slip),
        seed("in-two", 1, 10, &slip),
        seed("short", 1, 255, &slip[1..]),
        seed("longer", 1, 255, &[8; 60]),
        seed("nothing", 1, 255, b""),
    ]
}

pub(super) fn of_ring() -> Seeds {
    let frames = |lengths: &[u8]| lengths.iter().flat_map(|len| [0, *len]).collect::<Vec<u8>>();
    let all: Vec<u8> = (0..=240).collect();
    let scribble = |at: u8, bytes: &[u8]| [&[3, at, bytes.len() as u8], bytes].concat();
    let marks = (0..=255_u8).flat_map(|at| [scribble(at, &[at, 0xc0]), vec![2]].concat()).collect();
    let position = |bytes: &[u8]| [&[0x83, 0, bytes.len() as u8], bytes].concat();
    vec![
        ("short".to_owned(), frames(&[0, 1, 2, 3, 4]).repeat(40)),
        ("all".to_owned(), frames(&all)),
        ("marks".to_owned(), marks),
        ("torn".to_owned(), [frames(&[3]), scribble(8, &[0x80]), vec![2, 2]].concat()),
        ("too-long".to_owned(), [scribble(0, &[0xff; 8]), vec![2]].concat()),
        ("full".to_owned(), [scribble(255, &[1]), frames(&[3; 60])].concat()),
        ("positions".to_owned(), [position(&[0xff; 8]), frames(&[9; 9]), position(&[7])].concat()),
    ]
}
