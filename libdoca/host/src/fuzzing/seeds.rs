//! Seed inputs of the targets, with real messages.

use urom_abi::DocaError;
use urom_wire::control::*;
use urom_wire::fuzzing::corpus::{Seeds, encoded};
use urom_wire::fuzzing::frames;
use urom_wire::trace::WorkerTrace;

fn hung() -> HungCall {
    HungCall { plugin: "one".to_owned(), method: Method::WorkerCmd, seconds: 5 }
}

/// Messages from a daemon after its welcome and from a worker after its acceptance.
pub(super) fn of_host_control() -> Seeds {
    let failure = || Failure::new(DocaError::TIME_OUT, "why");
    let address = "0.0.0.0:5000".parse().unwrap();
    let daemon = [
        encoded(&DaemonToHost::Ping),
        encoded(&DaemonToHost::Started { request: 1, id: 7, address, token: 7 }),
        encoded(&DaemonToHost::Started { request: 1, id: 7, address, token: 8 }),
        encoded(&DaemonToHost::Group { request: 2, ids: vec![7, u64::MAX] }),
        encoded(&DaemonToHost::Failed { request: 3, failure: failure() }),
        encoded(&DaemonToHost::Failed { request: 4, failure: failure() }),
    ];
    let memory = |answer| encoded(&WorkerToHost::Memory(answer));
    let by = SharedBy { path: 2, ucx_address: vec![5; 40] };
    let worker = [
        encoded(&WorkerToHost::Ping),
        encoded(&WorkerToHost::DomainStarted { domain: 5, result: Ok(()) }),
        encoded(&WorkerToHost::DomainStarted { domain: 5, result: Err(failure()) }),
        encoded(&WorkerToHost::DomainEnded { domain: 6 }),
        encoded(&WorkerToHost::Health(Some(hung()))),
        memory(MemoryAnswer::Shared { share: 1, result: Err(failure()) }),
        memory(MemoryAnswer::Shared { share: 2, result: Ok(by) }),
        memory(MemoryAnswer::Ended { share: 2 }),
        encoded(&WorkerToHost::Refused(failure())),
    ];
    let input = |choice: u8, messages: &[Vec<u8>]| [&[choice], &messages.concat()[..]].concat();
    let mut success = [encoded(&WorkerToHost::Refused(Failure::new(DocaError::TIME_OUT, "")))];
    // The code, before the empty text.
    *success[0].iter_mut().nth_back(1).unwrap() = 0;
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
        let socket = HandoverAddress { address: b"/run/urom/7".to_vec(), machine: 7 };
        encoded(&WorkerToHost::Attached { socket, ucx_address, channel: 4, max_message, plugins })
    };
    let refused = encoded(&DaemonToHost::Refused(failure()));
    vec![
        ("daemon".to_owned(), input(0, &daemon)),
        ("worker".to_owned(), input(1, &worker)),
        ("refused-with-success".to_owned(), input(1, &success)),
        ("welcome".to_owned(), input(2, &[encoded(&DaemonToHost::Ping), encoded(&welcome("0-3"))])),
        ("welcome-cpus".to_owned(), input(2, &[encoded(&welcome("3-0"))])),
        ("welcome-refused".to_owned(), input(2, &[refused])),
        ("welcome-late".to_owned(), input(2, &daemon)),
        ("attached".to_owned(), input(3, &[attached(b"an address".to_vec(), 256)])),
        ("attached-short".to_owned(), input(3, &[attached(Vec::new(), 3)])),
        ("attached-never".to_owned(), input(3, &worker)),
    ]
}

pub(super) fn of_host_frames() -> Seeds {
    let answers = |statuses: [u8; 4]| {
        let note = |(slot, status): (usize, u8)| [2 + 8 * slot as u8, status, 4 + slot as u8, 0xaa];
        statuses.into_iter().enumerate().flat_map(note).collect::<Vec<u8>>()
    };
    let four = vec![0, 0, 0, 0];
    // With and without payload, text and valid UTF-8; then the slot fails without a reason.
    let explained = [
        &[0, 0, 0, 0, 2, 6, 0xf8, 3, b'w', b'h', b'y', 10, 0, 0xf9, 0, 18, 0xff, 0xfc, 2, 0xc3][..],
        &[0x0a, 26, 5, 0xfb, 1, b'x', 7, 0, 2, 6, 4, 0xaa, 0],
    ]
    .concat();
    let mut trace = WorkerTrace { received: 5, ..WorkerTrace::default() };
    trace.begin("run", 0, 6);
    let trace = trace.finish(7);
    let traced = [&[0, 0, 2, 0, 0xf7, trace.len() as u8][..], &trace, &[10, 6, 0xf7, 1, 9, 7]];
    let traced = traced.concat();
    let bytes = [&[0, 5, 8][..], &frames::command(0, 0, &[]), &[7]].concat();
    vec![
        ("answers".to_owned(), [four.clone(), answers([0, 20, 0x80, 0x85]), four.clone()].concat()),
        ("two".to_owned(), vec![0, 0, 3, 0, 8, 1, 0, 0xff, 2]),
        ("twice".to_owned(), [four, answers([1, 2, 3, 4]), answers([5, 6, 7, 8])].concat()),
        ("damaged".to_owned(), vec![0, 0, 4, 0, 9, 1, 3, 0x40, 12, 0, 9, 1, 5, 0x07]),
        ("lengths".to_owned(), vec![0, 0, 0, 2, 0, 0xfe, 1, 10, 0, 0xfd, 2, 18, 0, 0xff, 3]),
        ("handshake".to_owned(), vec![0, 6, 2, 0, 0, 6, 0, 6, 3, 1, 2, 3, 7]),
        ("bytes".to_owned(), bytes),
        ("explained".to_owned(), explained),
        ("full".to_owned(), vec![0; 12]),
        ("traced".to_owned(), traced),
        // With wrong passes, then with the worker's.
        (
            "forged".to_owned(),
            vec![0, 4, 1, 4, 9, 0, 9, 0x80, 4, 1, 4, 9, 0, 9, 0x40, 2, 1, 4, 9, 0, 7],
        ),
    ]
}
