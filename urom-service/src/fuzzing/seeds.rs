//! Real messages, and programs of them, as first inputs of the targets.

use urom_wire::control::*;
use urom_wire::domain::{Member, Participant};
use urom_wire::fuzzing::corpus::{Seeds, strange};
use urom_wire::fuzzing::frames;

/// One step of a program: kind, peer and message.
fn step<T: serde::Serialize>(kind: u8, whom: u8, message: &T) -> Vec<u8> {
    let bytes = postcard::to_extend(message, Vec::new()).unwrap();
    [&[kind + 8 * whom, bytes.len() as u8], &bytes[..]].concat()
}

pub(super) fn of_daemon() -> Seeds {
    let wish = |id, env| StartWorker { id, plugins: 1, gid: 4, env, cpus: None };
    let start =
        |host, request, id| step(0, host, &HostToDaemon::Start { request, worker: wish(id, None) });
    let says = |serial, message: WorkerToDaemon| step(3, serial, &message);
    let ready = |serial| says(serial, WorkerToDaemon::Ready { port: 5000 });
    let expected = |serial, token| says(serial, WorkerToDaemon::Expected { token });
    let arrived = |serial, token| says(serial, WorkerToDaemon::Arrived { token });
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

pub(super) fn of_worker_control() -> Seeds {
    let attach =
        || Attach { token: 7, max_inflight: 32, max_message: 4096, program: String::new() };
    let enter = |link| {
        let expect = step(4, 0, &DaemonToWorker::Expect { token: 7 });
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
        [step(4, 0, &DaemonToWorker::Forget { token: 7 }), enter(2), vec![7 + 16]].concat();
    let broken = [enter(0), domain(0, 5, DomainWord::Start { len: 9 }), starts(0, 6)].concat();
    let unknown = [vec![5], starts(0, 5), vec![5 + 8, 7 + 8]].concat();
    let memory = |link, word| step(0, link, &HostToWorker::Memory(word));
    let reach = |link| {
        let reach = Reach { ucx_address: vec![1; 5], channel: 3 };
        step(0, link, &HostToWorker::Reach(reach))
    };
    let offer = |location| MemoryOffer {
        share: 2,
        memory: 6,
        address: 0x7000,
        len: 4096,
        access: 33,
        location,
        ucx_address: vec![3; 9],
    };
    let shares = |link| {
        let locations = [
            MemoryLocation::Handed { offset: 0 },
            MemoryLocation::Process,
            MemoryLocation::Network,
        ];
        let offers = locations.map(|location| memory(link, MemoryWord::Share(offer(location))));
        let ends = memory(link, MemoryWord::End { memory: 6, share: 2, after: 0 });
        let leaves = memory(link, MemoryWord::Leave);
        [reach(link), offers.concat(), ends, leaves].concat()
    };
    let memories = [enter(0), shares(0), vec![6]].concat();
    let of_unknown = [vec![5], shares(0), vec![5 + 8], reach(1)].concat();
    vec![
        ("memories".to_owned(), memories),
        ("memories-of-a-stranger".to_owned(), of_unknown),
        ("whole".to_owned(), whole),
        ("two".to_owned(), two),
        ("forgets".to_owned(), forgets),
        ("broken".to_owned(), broken),
        ("stranger".to_owned(), unknown),
    ]
}

/// Steps of the hosts: connect, commands (slot, kind, byte), a turn, arbitrary bytes.
pub(super) fn of_worker_frames() -> Seeds {
    let came = |attach: Attach| {
        let bytes = postcard::to_extend(&attach, Vec::new()).unwrap();
        [&[1, bytes.len() as u8], &bytes[..]].concat()
    };
    let attach = |max_inflight, max_message| Attach {
        token: 0,
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
    // A frame's slot, kind and fill byte: see the plugin.
    let called: Vec<u8> =
        (0..8).flat_map(|kind| [3, 0, kind, 4, kind << 4 | 1, 7]).collect::<Vec<u8>>();
    // Delayed commands, with and without deadlines, cancelled with valid and invalid ids.
    let cancelled = vec![
        0, 3, 3, 0, 2, 1, 1, 0x22, 9, 1, 2, 0x24, 0xff, 0x51, 3, 0x11, 7, 3, 3, 0, 0x10, 1, 0x12,
        2, 0x1f, 8, 0x11, 7, 2, 7,
    ];
    let sent = frames::command(2, 0, &[0, 1, 2]);
    let bytes = [&[0, 6, 11], &sent[..], &[7]].concat();
    vec![
        ("all".to_owned(), [vec![0], all].concat()),
        ("damaged".to_owned(), damaged),
        ("beyond".to_owned(), beyond),
        ("back-at-once".to_owned(), back_at_once),
        ("busy".to_owned(), busy),
        ("called".to_owned(), [vec![0], called].concat()),
        ("cancelled".to_owned(), cancelled),
        ("leaves".to_owned(), leaves),
        ("long".to_owned(), long),
        ("bytes".to_owned(), bytes),
        ("strange".to_owned(), [vec![0, 8], strange(), vec![3, 0, 4, 0, 0, 7]].concat()),
        (
            "of-others".to_owned(),
            vec![
                16, 19, 0, 1, 4, 7, 15, 7, 21, 0, 2, 4, 7, 11, 0x40, 7, 21, 0, 3, 4, 7, 11, 0xc0,
                15, 7,
            ],
        ),
        ("no-slots".to_owned(), came(attach(0, 4096))),
        ("no-room".to_owned(), came(attach(1, 10))),
    ]
}
