//! Real messages, and programs with them, as first inputs of the targets.

use std::sync::Arc;

use zerocopy::IntoBytes;

use super::now;
use crate::wire::control::*;
use crate::wire::domain::{Address, Member, Participant, Segment, Size, Verdict};
use crate::wire::frame;
use crate::wire::hello::{Hello, Role};
use crate::wire::stream::send;

/// A message as it is sent.
fn sent<T: serde::Serialize>(message: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    now(send(&mut bytes, message)).unwrap();
    bytes
}

/// A plugin that does not return.
fn stuck() -> Stuck {
    Stuck { plugin: "one".to_owned(), method: Method::WorkerCmd, seconds: 5 }
}

pub(super) fn of_control() -> Vec<(String, Vec<u8>)> {
    let failure = || Failure { code: 9, text: "why".to_owned() };
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
        ticket: 7,
        ucx_address: vec![1; 50],
        channel: 3,
        max_inflight: 32,
        max_message: 4096,
        program: "host, process 7".to_owned(),
    };
    let plugins = vec![PluginAddress {
        name: "one".to_owned(),
        build: PluginBuild { version: 2, fingerprint: Some(6) },
        address: vec![8; 9],
    }];
    let attached =
        WorkerToHost::Attached { ucx_address: vec![2; 50], channel: 4, max_message: 4096, plugins };
    let domain = |word| sent(&HostToWorker::Domain { domain: 5, word });
    let host_to_daemon = [
        sent(&HostToDaemon::Ping),
        sent(&HostToDaemon::Start { request: 1, worker: worker(u64::MAX, env) }),
        sent(&HostToDaemon::Start { request: 2, worker: worker(7, None) }),
        sent(&HostToDaemon::Group { request: 3, gid: 4 }),
        sent(&HostToDaemon::Describe { request: 4, plugin: 1 }),
    ];
    let daemon_to_host = [
        sent(&welcome),
        sent(&DaemonToHost::Started { request: 1, id: 7, address, ticket: 7 }),
        sent(&DaemonToHost::Group { request: 3, ids: vec![7, u64::MAX] }),
        sent(&DaemonToHost::Failed { request: 2, failure: failure() }),
        sent(&DaemonToHost::Description { request: 4, description: Arc::from([1, 2, 3]) }),
    ];
    let host_to_worker = [
        sent(&HostToWorker::Attach(attach)),
        domain(DomainWord::Start { len: 3 }),
        domain(DomainWord::Piece(vec![1, 2, 3])),
        domain(DomainWord::End),
    ];
    let worker_to_host = [
        sent(&attached),
        sent(&WorkerToHost::DomainStarted { domain: 5, result: Err(failure()) }),
        sent(&WorkerToHost::DomainEnded { domain: 5 }),
        sent(&WorkerToHost::Refused(failure())),
        sent(&WorkerToHost::Health(Some(stuck()))),
        sent(&WorkerToHost::Health(None)),
    ];
    let daemon_to_worker = [
        sent(&DaemonToWorker::Expect { ticket: 7 }),
        sent(&DaemonToWorker::Forget { ticket: 7 }),
        sent(&DaemonToWorker::Open { secret: Some(postcard::from_bytes(&[1; 32]).unwrap()) }),
        sent(&DaemonToWorker::Stop),
    ];
    let worker_to_daemon = [
        sent(&WorkerToDaemon::Ready { port: 5000 }),
        sent(&WorkerToDaemon::Failed(failure())),
        sent(&WorkerToDaemon::Expected { ticket: 7 }),
        sent(&WorkerToDaemon::Empty),
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

/// What a daemon says after its welcome, and a worker after it let the host in.
pub(super) fn of_host_control() -> Vec<(String, Vec<u8>)> {
    let failure = || Failure { code: 9, text: "why".to_owned() };
    let address = "0.0.0.0:5000".parse().unwrap();
    let daemon = [
        sent(&DaemonToHost::Ping),
        sent(&DaemonToHost::Started { request: 1, id: 7, address, ticket: 7 }),
        sent(&DaemonToHost::Started { request: 1, id: 7, address, ticket: 8 }),
        sent(&DaemonToHost::Group { request: 2, ids: vec![7, u64::MAX] }),
        sent(&DaemonToHost::Failed { request: 3, failure: failure() }),
        sent(&DaemonToHost::Failed { request: 4, failure: failure() }),
    ];
    let worker = [
        sent(&WorkerToHost::Ping),
        sent(&WorkerToHost::DomainStarted { domain: 5, result: Ok(()) }),
        sent(&WorkerToHost::DomainStarted { domain: 5, result: Err(failure()) }),
        sent(&WorkerToHost::DomainEnded { domain: 6 }),
        sent(&WorkerToHost::Health(Some(stuck()))),
        sent(&WorkerToHost::Refused(failure())),
    ];
    let said = |choice: u8, messages: &[Vec<u8>]| [&[choice], &messages.concat()[..]].concat();
    let success = [sent(&WorkerToHost::Refused(Failure { code: 0, text: String::new() }))];
    let welcome = |cpus: &str| DaemonToHost::Welcome {
        plugins: vec![
            PluginEntry {
                id: 1,
                build: PluginBuild { version: 2, fingerprint: None },
                name: "one".to_owned(),
            },
            PluginEntry {
                id: 2,
                build: PluginBuild { version: 2, fingerprint: None },
                name: "a\0b".to_owned(),
            },
        ],
        cpus: cpus.to_owned(),
        max_message: 4096,
    };
    let attached = |ucx_address, max_message| {
        let plugins = vec![PluginAddress {
            name: "one".to_owned(),
            build: PluginBuild { version: 2, fingerprint: Some(6) },
            address: vec![8; 9],
        }];
        sent(&WorkerToHost::Attached { ucx_address, channel: 4, max_message, plugins })
    };
    let (right, damaged) =
        (attached(Vec::new(), 256), attached(b"UWA\x02 that is none".to_vec(), 256));
    let refused = sent(&DaemonToHost::Refused(failure()));
    let mut seeds = vec![
        ("daemon".to_owned(), said(0, &daemon)),
        ("worker".to_owned(), said(1, &worker)),
        ("refused-with-success".to_owned(), said(1, &success)),
        ("welcome".to_owned(), said(2, &[sent(&DaemonToHost::Ping), sent(&welcome("0-3"))])),
        ("welcome-cpus".to_owned(), said(2, &[sent(&welcome("3-0"))])),
        ("welcome-refused".to_owned(), said(2, &[refused])),
        ("welcome-late".to_owned(), said(2, &daemon)),
        ("attached-damaged".to_owned(), said(3, &[damaged])),
        ("attached-short".to_owned(), said(3, &[attached(Vec::new(), 3)])),
        ("attached-never".to_owned(), said(7, &worker)),
    ];
    for (how, name) in ["after", "before", "silent", "twice"].into_iter().enumerate() {
        seeds.push((
            format!("attached-{name}"),
            said(3 + 4 * how as u8, std::slice::from_ref(&right)),
        ));
    }
    seeds
}

/// Steps of a worker: tasks are submitted and answered.
pub(super) fn of_host_frames() -> Vec<(String, Vec<u8>)> {
    let answers = |statuses: [u8; 4]| {
        let note = |(slot, status): (usize, u8)| [2 + 8 * slot as u8, status, 4 + slot as u8, 0xaa];
        statuses.into_iter().enumerate().flat_map(note).collect::<Vec<u8>>()
    };
    let four = vec![0, 0, 0, 0];
    let bytes = [&[0, 5, 8][..], &frame::command_header(0, 0, 0, 0), &[7]].concat();
    vec![
        ("answers".to_owned(), [four.clone(), answers([0, 20, 0x80, 0x85]), four.clone()].concat()),
        ("two".to_owned(), vec![0, 0, 3, 0, 8, 1, 0, 0xff, 2]),
        ("twice".to_owned(), [four, answers([1, 2, 3, 4]), answers([5, 6, 7, 8])].concat()),
        ("damaged".to_owned(), vec![0, 0, 4, 0, 9, 1, 3, 0x40, 12, 0, 9, 1, 5, 0x07]),
        ("lengths".to_owned(), vec![0, 0, 0, 2, 0, 0xfe, 1, 10, 0, 0xfd, 2, 18, 0, 0xff, 3]),
        ("greets".to_owned(), vec![0, 6, 2, 0, 0, 6, 0, 6, 3, 1, 2, 3, 7]),
        ("bytes".to_owned(), bytes),
        ("full".to_owned(), vec![0; 12]),
        // With the passes of others, and with the worker's.
        (
            "forged".to_owned(),
            vec![0, 4, 1, 4, 9, 0, 7, 0x80, 4, 1, 4, 9, 0, 7, 0x40, 2, 1, 4, 9, 0, 7],
        ),
        ("strange".to_owned(), [vec![0], strange(), vec![2, 0, 4, 0, 0]].concat()),
        // The notification waits behind four messages, and then its slot is taken by another task.
        (
            "behind-others".to_owned(),
            [vec![0, 14, 0, 0, 22, 0, 0, 14, 0, 0, 22, 0, 0, 10, 3, 2, 7, 7], vec![0; 9]].concat(),
        ),
    ]
}

/// Messages over UCX that nobody sends: each kind, with data and a header or without, and announced.
fn strange() -> Vec<u8> {
    let message = |how: u8, header: &[u8], data: &[u8]| {
        [&[6 + 8 * how, header.len() as u8], header, &[data.len() as u8], data].concat()
    };
    let kinds = (1..8).flat_map(|how| message(how, &[how; 2], &[how; 9])).collect();
    let bare = (1..8).flat_map(|how| message(how, &[], &[])).collect();
    let command = frame::command_header(0, 0, 0, 0);
    let with_pass = message(0, &[], &[&[1; 4][..], &command].concat());
    [kinds, bare, with_pass, message(2, b"expected", &[]), message(4, &[], &command), vec![7]]
        .concat()
}

pub(super) fn of_domain() -> Vec<(String, Vec<u8>)> {
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
    let failed = Failure { code: 9, text: "why".to_owned() };
    vec![
        ("one".to_owned(), one.encode()),
        ("two".to_owned(), [one.encode(), two.encode()].concat()),
        ("twice".to_owned(), [two.encode(), two.encode()].concat()),
        ("size".to_owned(), Size::new(77).as_bytes().to_vec()),
        ("verdict".to_owned(), Verdict::new(Err(&failed)).as_bytes().to_vec()),
    ]
}

/// Changes of the address of a worker that reaches itself alone: where, which, and with what.
pub(super) fn of_ucx_address() -> Vec<(String, Vec<u8>)> {
    // Where its device begins, how much a transport can do, and so where the length of the transport's address stands.
    let of = |name: &str, layout: u8, device: u8, can: u8| {
        let own = device + 2 + 2 + can;
        let mut changes: Vec<(&str, Vec<u8>)> = vec![
            ("whole", vec![]),
            ("layout", vec![0, 0, 0x0f]),
            ("cut", vec![own, 2, 0]),
            ("memory-domain", vec![device, 1, 100]),
            ("without-own-address", vec![own, 1, 0x80, own + 1, 3, 8]),
            ("device-twice", vec![device, 4, own + 9 - device, device + 1, 1, 0]),
        ];
        if layout == 1 {
            changes.push(("no-room", vec![device + 8, 1, 0, device + 9, 1, 0]));
        }
        let named = |(what, changes): (&str, Vec<u8>)| {
            (format!("{name}-{what}"), [vec![layout], changes].concat())
        };
        changes.into_iter().map(named).collect::<Vec<_>>()
    };
    [of("first", 0, 9, 16), of("second", 1, 10, 8)].concat()
}

pub(super) fn of_hello() -> Vec<(String, Vec<u8>)> {
    let roles = [Role::Host, Role::Daemon, Role::Worker];
    let ucx = ucx::Version { major: 1, minor: 22, patch: 0 };
    let hello = |(at, role)| {
        let hello = Hello::with_ucx(role, ucx);
        let said = |keyed: u8| {
            [&[(2 * at as u8) | (keyed << 7)], hello.as_bytes(), &[keyed; 33], &[7; 32]].concat()
        };
        [(format!("{role}"), said(0)), (format!("{role}-key"), said(1))]
    };
    roles.into_iter().enumerate().flat_map(hello).collect()
}

/// Who has which key, and what the wire does: which way, where, with what.
pub(super) fn of_greeting() -> Vec<(String, Vec<u8>)> {
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

/// One step of a program: what it does, to whom, and a message.
fn step<T: serde::Serialize>(kind: u8, whom: u8, message: &T) -> Vec<u8> {
    let bytes = postcard::to_extend(message, Vec::new()).unwrap();
    [&[kind + 8 * whom, bytes.len() as u8], &bytes[..]].concat()
}

pub(super) fn of_daemon() -> Vec<(String, Vec<u8>)> {
    let wish = |id, env| StartWorker { id, plugins: 1, gid: 4, env, cpus: None };
    let start =
        |host, request, id| step(0, host, &HostToDaemon::Start { request, worker: wish(id, None) });
    let says = |serial, message: WorkerToDaemon| step(3, serial, &message);
    let ready = |serial| says(serial, WorkerToDaemon::Ready { port: 5000 });
    let expected = |serial, ticket| says(serial, WorkerToDaemon::Expected { ticket });
    let arrived = |serial, ticket| says(serial, WorkerToDaemon::Arrived { ticket });
    let empty = |serial| says(serial, WorkerToDaemon::Empty);
    let invalid = step(
        0,
        0,
        &HostToDaemon::Start { request: 9, worker: wish(3, Some(vec!["x".to_owned()])) },
    );
    let life = [start(0, 1, 7), ready(1), expected(1, 1), arrived(1, 1), empty(1)].concat();
    let joins =
        [start(0, 1, 7), start(1, 1, 7), ready(1), expected(1, 1), expected(1, 2), arrived(1, 1)];
    let dies = [start(0, 1, 7), ready(1), start(1, 2, 7), vec![6 + 8], ready(2), expected(2, 2)];
    let leaves = [start(0, 1, u64::MAX), ready(1), vec![5], empty(1), start(0, 2, 7), vec![6 + 16]];
    let late = [start(0, 1, 7), vec![7 + 8, 0], start(0, 2, 7), ready(2), vec![7 + 16, 1]];
    let group = |host, request, gid| step(0, host, &HostToDaemon::Group { request, gid });
    let groups = [
        group(1, 1, 4),
        start(0, 1, 7),
        group(1, 2, 4),
        ready(1),
        group(1, 3, 4),
        group(1, 4, 5),
        group(1, 3, 4),
    ];
    vec![
        ("life".to_owned(), life),
        ("joins".to_owned(), joins.concat()),
        ("dies".to_owned(), dies.concat()),
        ("leaves".to_owned(), leaves.concat()),
        ("late".to_owned(), late.concat()),
        ("group".to_owned(), groups.concat()),
        ("invalid".to_owned(), invalid),
        ("arrived-too-early".to_owned(), [start(0, 1, 7), ready(1), arrived(1, 1)].concat()),
        ("empty-too-early".to_owned(), [start(0, 1, 7), empty(1)].concat()),
    ]
}

pub(super) fn of_worker_control() -> Vec<(String, Vec<u8>)> {
    let attach = || Attach {
        ticket: 7,
        ucx_address: vec![1; 5],
        channel: 3,
        max_inflight: 32,
        max_message: 4096,
        program: String::new(),
    };
    let enter = |link| {
        let expect = step(4, 0, &DaemonToWorker::Expect { ticket: 7 });
        [expect, vec![5 + 8 * link], step(0, link, &HostToWorker::Attach(attach()))].concat()
    };
    let domain = |link, domain, word| step(0, link, &HostToWorker::Domain { domain, word });
    let table = Participant {
        members: vec![Member { id: 2, addresses: Vec::new() }],
        segments: Vec::new(),
    };
    let table = table.encode();
    let starts = |link, number| {
        let start = DomainWord::Start { len: table.len() as u64 };
        [domain(link, number, start), domain(link, number, DomainWord::Piece(table.clone()))]
            .concat()
    };
    let whole = [enter(0), starts(0, 5), domain(0, 5, DomainWord::End), vec![6]].concat();
    let two = [enter(0), starts(0, 5), enter(1), starts(1, 5), starts(0, 5)].concat();
    let forgets =
        [step(4, 0, &DaemonToWorker::Forget { ticket: 7 }), enter(2), vec![7 + 16]].concat();
    let broken = [enter(0), domain(0, 5, DomainWord::Start { len: 9 }), starts(0, 6)].concat();
    let stranger = [vec![5], starts(0, 5), vec![5 + 8, 7 + 8]].concat();
    vec![
        ("whole".to_owned(), whole),
        ("two".to_owned(), two),
        ("forgets".to_owned(), forgets),
        ("broken".to_owned(), broken),
        ("stranger".to_owned(), stranger),
    ]
}

/// Steps of the hosts: coming in, commands as slot, kind and byte, a turn, any bytes.
pub(super) fn of_worker_frames() -> Vec<(String, Vec<u8>)> {
    let came = |attach: Attach| {
        let bytes = postcard::to_extend(&attach, Vec::new()).unwrap();
        [&[1, bytes.len() as u8], &bytes[..]].concat()
    };
    let attach = |ucx_address, max_inflight, max_message| Attach {
        ticket: 0,
        ucx_address,
        channel: 0,
        max_inflight,
        max_message,
        program: String::new(),
    };
    let kinds =
        |first: u8| (first..first + 4).flat_map(|kind| [kind % 8, 4, kind]).collect::<Vec<u8>>();
    let all: Vec<u8> = (0..4).flat_map(|at| [&[3, 3], &kinds(4 * at)[..], &[7]].concat()).collect();
    let damaged = [vec![0, 5, 3], kinds(0), vec![40, 0x21, 7]].concat();
    let beyond = vec![0, 8, 3, 0, 8, 4, 0, 7, 11, 0, 2, 4, 0, 7];
    let busy = vec![0, 8, 3, 1, 2, 4, 1, 2, 4, 0, 7];
    let leaves = vec![0, 3, 3, 0, 1, 1, 1, 1, 1, 2, 1, 1, 3, 1, 1, 7, 2, 15, 0, 15];
    let long = vec![0, 3, 1, 0, 0xf4, 0, 1, 0x84, 0, 7];
    let back_at_once = vec![0, 3, 1, 0, 0, 0, 0, 0, 0, 33, 0, 0, 7, 7];
    let sent = frame::command_header(1, 2, 0, 3);
    let bytes = [&[0, 6, 11], &sent[..], &[0, 1, 2, 7]].concat();
    vec![
        ("all".to_owned(), [vec![0], all].concat()),
        ("damaged".to_owned(), damaged),
        ("beyond".to_owned(), beyond),
        ("back-at-once".to_owned(), back_at_once),
        ("busy".to_owned(), busy),
        ("leaves".to_owned(), leaves),
        ("long".to_owned(), long),
        ("bytes".to_owned(), bytes),
        ("strange".to_owned(), [vec![0, 8], strange(), vec![3, 0, 4, 0, 0, 7]].concat()),
        // A host, and what others send by its channel.
        (
            "of-others".to_owned(),
            vec![
                16, 19, 0, 1, 4, 7, 15, 7, 21, 0, 2, 4, 7, 11, 0x40, 7, 21, 0, 3, 4, 7, 11, 0xc0,
                15, 7,
            ],
        ),
        ("no-address".to_owned(), came(attach(vec![1; 60], 8, 4096))),
        ("no-slots".to_owned(), came(attach(vec![], 0, 4096))),
        ("no-room".to_owned(), came(attach(vec![], 1, 10))),
    ]
}
