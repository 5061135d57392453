//! The library's reaction to misbehaving daemons and workers.

use std::net::{Ipv4Addr, SocketAddr};

use tokio::net::TcpStream;
use ucx::AmFlags;
use urom_abi::host::CtxState;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::{DaemonToHost, Failure, HandoverAddress, HostToWorker, WorkerToHost};
use urom_wire::envelope::{AM_HANDSHAKE, AM_NOTIFICATIONS, Envelope, VerificationTag};
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::hello::{Hello, ProtocolRange, Role};
use urom_wire::peer_timeout::PeerTimeout;
use urom_wire::stream;

use super::{ENVELOPE, Fake, frame};
use crate::support::{
    At, Engine, OK, TestService, TestWorker, as_task, failed_start, failure, has, state,
};

#[test]
fn garbage_from_a_worker_is_dropped_and_valid_messages_arrive() {
    let (fake, address) = Fake::new();
    let worker = std::thread::spawn(move || {
        let mut daemon = fake.welcome(4096);
        fake.start_at(&mut daemon, address);
        let mut host = fake.attach(4096);
        host.handshake();
        host.wait_for(4);
        let [a, b, c, _] = host.slots.borrow()[..] else { panic!("four commands") };
        // Too short for a header; another channel; unused slots.
        host.send(vec![0xff; 5]);
        let others = Envelope { tag: ENVELOPE.tag, channel: host.channel ^ 0x40 };
        host.send_raw(bytes_of::message(others, &frame(a, OK, Some(b"other"))));
        host.send(frame(999, OK, Some(b"nobody")));
        host.send(vec![]);
        // Wrong passes.
        let forged = frame(a, OK, Some(b"forged"));
        for tag in [0x0101_0101, 0].map(VerificationTag::new) {
            let envelope = Envelope { tag, channel: host.channel };
            host.send_raw(bytes_of::message(envelope, &forged));
        }
        host.send_raw(forged);
        host.send_raw(vec![1; 3]);
        // A handshake of another length, and a notification by rendezvous.
        host.endpoint.am_send_with(AM_HANDSHAKE, &[1; 3], (), AmFlags::EAGER).detach();
        let own = Envelope { tag: ENVELOPE.tag, channel: host.channel };
        let announced = bytes_of::message(own, &frame(a, OK, Some(b"announced")));
        host.endpoint.am_send_with(AM_NOTIFICATIONS, &[], announced, AmFlags::RENDEZVOUS).detach();
        // Two answers to one command, followed by a truncated message.
        let twice = [frame(a, OK, Some(b"one")), frame(a, OK, Some(b"two")), vec![1; 7]].concat();
        host.send(twice);
        host.send(frame(b, OK, Some(&[0; 4065])));
        host.send(frame(c, DocaStatus(300), None));
        // A redundant second Attached, then the end for this host.
        let again = WorkerToHost::Attached {
            socket: HandoverAddress::default(),
            ucx_address: vec![1; 20],
            channel: 6,
            max_message: 1,
            plugins: vec![],
        };
        fake.send(&mut host.stream, &again);
        host.wait_for(5);
        assert_eq!(host.slots.borrow()[4], a);
        let enough = Failure { code: DocaError::AUTHENTICATION, text: "enough of you".to_owned() };
        fake.send(&mut host.stream, &WorkerToHost::Refused(enough));
        // Until the host has seen the end.
        while fake
            .runtime
            .block_on(stream::receive::<HostToWorker>(&mut host.stream, PeerTimeout::default()))
            .is_ok()
        {}
        daemon
    });
    let engine = Engine::new();
    let service = TestService::start(&At::Address(address), &engine);
    let context = TestWorker::start(service.raw, &engine, 9, 4);
    let tasks: Vec<usize> = (0..4).map(|_| context.submit(b"command").addr()).collect();
    let expected = [
        (tasks[0], OK, Some(b"one".to_vec())),
        (tasks[1], DocaStatus::TOO_BIG, None),
        (tasks[2], DocaStatus(300), None),
    ];
    for (at, (task, status, response)) in expected.into_iter().enumerate() {
        let done = engine.done();
        assert_eq!((done.task, done.status, done.response), (task, status, response));
        if at == 0 {
            // In the slot with two answers.
            assert_eq!(context.submit(b"another").addr(), tasks[0]);
        }
    }
    for task in [tasks[3], tasks[0]] {
        let done = engine.done();
        assert_eq!((done.task, done.status), (task, DocaStatus::AUTHENTICATION));
    }
    assert_eq!(failure(context.ctx), "enough of you");
    assert_eq!(engine.next(), 1);
    assert_eq!(state(context.ctx), CtxState::IDLE);
    drop(worker.join().unwrap());
}

#[test]
fn a_host_that_is_cut_off_before_it_is_let_in_tries_again() {
    let (fake, address) = Fake::new();
    let worker = std::thread::spawn(move || {
        fake.cut_off(Role::Daemon);
        // A keyless daemon may close the connection only after its handshake.
        drop(fake.accept(Hello::new(Role::Daemon)));
        let mut daemon = fake.welcome(4096);
        fake.start_at(&mut daemon, address);
        fake.cut_off(Role::Worker);
        let host = fake.attach(4096);
        host.handshake();
        host.wait_for(1);
        host.send(frame(0, OK, Some(b"in")));
        (daemon, host.stream)
    });
    let engine = Engine::new();
    let service = TestService::start(&At::Address(address), &engine);
    let context = TestWorker::start(service.raw, &engine, 9, 4);
    context.submit(b"command");
    assert_eq!(engine.done().response, Some(b"in".to_vec()));
    drop(worker.join().unwrap());
}

#[test]
fn a_worker_may_repeat_its_handshake() {
    let (fake, address) = Fake::new();
    let worker = std::thread::spawn(move || {
        let mut daemon = fake.welcome(4096);
        fake.start_at(&mut daemon, address);
        let mut host = fake.attach(4096);
        host.handshake();
        host.wait_for(1);
        host.handshake();
        // Another channel is ignored.
        host.channel ^= 1;
        host.handshake();
        host.channel ^= 1;
        host.send(frame(0, OK, Some(b"in")));
        (daemon, host.stream)
    });
    let engine = Engine::new();
    let service = TestService::start(&At::Address(address), &engine);
    let context = TestWorker::start(service.raw, &engine, 9, 4);
    context.submit(b"command");
    assert_eq!(engine.done().response, Some(b"in".to_vec()));
    drop(worker.join().unwrap());
}

#[test]
fn a_worker_whose_word_is_of_no_use_is_cancelled() {
    for (ucx_address, max_message, words) in
        [(&b"UWA\x02 that is wrong"[..], 4096, "worker 9"), (&[], 3, "only 3 bytes")]
    {
        let (fake, address) = Fake::new();
        let worker = std::thread::spawn(move || {
            let mut daemon = fake.welcome(4096);
            fake.start_at(&mut daemon, address);
            let host = fake.let_in(HandoverAddress::default(), ucx_address.to_vec(), max_message);
            (daemon, host)
        });
        has(&failed_worker(address), &[words]);
        drop(worker.join().unwrap());
    }
}

#[test]
fn an_answer_that_overtakes_its_command_holds_up_no_other_worker_and_not_the_host() {
    const LONG: usize = (16 << 20) - 1;
    let (fake, address) = Fake::new();
    let (submitted, go) = std::sync::mpsc::channel();
    let (answered, look) = std::sync::mpsc::channel();
    let (stopped, end) = std::sync::mpsc::channel();
    let worker = std::thread::spawn(move || {
        let mut daemon = fake.welcome(LONG as u64);
        let mut hosts = Vec::new();
        for _ in 0..2 {
            fake.start_at(&mut daemon, address);
            let host = fake.attach(LONG as u64);
            host.handshake();
            hosts.push(host);
        }
        go.recv().unwrap();
        // Its unreceived commands exceed UCX's receive buffer.
        hosts[0].send([frame(0, OK, None), frame(1, OK, None)].concat());
        hosts[1].wait_for(1);
        hosts[1].send(frame(0, OK, Some(b"other")));
        answered.send(()).unwrap();
        end.recv().unwrap();
        (daemon, hosts.into_iter().map(|host| host.stream).collect::<Vec<_>>())
    });
    let engine = Engine::new();
    let service = TestService::start_with(&At::Address(address), &engine, LONG);
    let slow = TestWorker::start(service.raw, &engine, 9, 4);
    let other = TestWorker::start(service.raw, &engine, 9, 4);
    let overtaken = slow.task(&vec![1; LONG - 100]);
    assert_eq!(c!(doca_task_submit(as_task(overtaken))), OK);
    let behind = slow.submit(b"behind");
    let free = other.submit(b"free").addr();
    submitted.send(()).unwrap();
    let done = engine.done();
    assert_eq!((done.task, done.response), (free, Some(b"other".to_vec())));
    look.recv().unwrap();
    engine.is_quiet(1000);
    // UCX reads the payload, so it must not be writable.
    assert!(c!(doca_urom_worker_cmd_task_get_payload(overtaken)).is_null());
    assert_eq!(c!(doca_ctx_stop(slow.ctx)), DocaError::IN_PROGRESS);
    for task in [overtaken, behind] {
        let done = engine.done();
        // Answers received before the stop count.
        assert_eq!((done.task, done.status), (task.addr(), OK));
    }
    stopped.send(()).unwrap();
    let streams = worker.join().unwrap();
    drop(streams);
}

#[test]
fn a_worker_that_is_silent_over_ucx_is_cancelled() {
    let (fake, address) = Fake::new();
    let worker = std::thread::spawn(move || {
        let mut daemon = fake.welcome(4096);
        fake.start_at(&mut daemon, address);
        let mut host = fake.attach(4096);
        // Alive on its streams but silent over UCX, until the host closes.
        fake.runtime.block_on(async {
            let mut beat = tokio::time::interval(urom_wire::control::HEARTBEAT);
            loop {
                beat.tick().await;
                let _ = stream::send(&mut daemon, &DaemonToHost::Ping).await;
                if stream::send(&mut host.stream, &WorkerToHost::Ping).await.is_err() {
                    return;
                }
            }
        });
        daemon
    });
    has(&failed_worker(address), &["UCX_TLS"]);
    drop(worker.join().unwrap());
}

#[test]
fn a_worker_that_cannot_be_reached_is_named() {
    let (fake, address) = Fake::new();
    let closed =
        std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap();
    let daemon = std::thread::spawn(move || {
        let mut daemon = fake.welcome(4096);
        // An address that stands for the daemon's own.
        let unspecified = SocketAddr::from((Ipv4Addr::UNSPECIFIED, closed.port()));
        fake.start_at(&mut daemon, unspecified);
        (fake, daemon)
    });
    has(&failed_worker(address), &["worker 9", &closed.to_string()]);
    drop(daemon.join().unwrap());
}

fn failed_worker(address: SocketAddr) -> String {
    let engine = Engine::new();
    let service = TestService::start(&At::Address(address), &engine);
    let context = TestWorker::new(service.raw, &engine, 9, 4);
    assert_eq!(c!(doca_ctx_start(context.ctx)), DocaError::IN_PROGRESS);
    assert_eq!(engine.next(), 1);
    assert_eq!(state(context.ctx), CtxState::IDLE);
    failure(context.ctx)
}

/// Returns the result of a service start with a scripted daemon.
fn start_with(accept: impl FnOnce(&Fake) -> TcpStream + Send + 'static) -> (DocaStatus, String) {
    let (fake, address) = Fake::new();
    let daemon = std::thread::spawn(move || {
        let stream = accept(&fake);
        (fake, stream)
    });
    let failed = failed_start(&At::Address(address));
    drop(daemon.join().unwrap());
    failed
}

#[test]
fn a_daemon_that_does_not_fit_is_refused_and_why_is_named() {
    let ours = ucx::version().to_string();
    type Accept = fn(&Fake) -> TcpStream;
    let cases: [(Accept, DocaStatus, [&str; 2]); 5] = [
        (
            |fake| {
                let other = ucx::Version { major: 1, minor: 99, patch: 3 };
                fake.accept(Hello::with_ucx(Role::Daemon, other))
            },
            DocaStatus::UNSUPPORTED_VERSION,
            ["1.99.3", &ours],
        ),
        (
            |fake| {
                let before_ranges = ProtocolRange { oldest: 13, newest: 0 };
                fake.accept(Hello::new(Role::Daemon).with_protocols(before_ranges))
            },
            DocaStatus::UNSUPPORTED_VERSION,
            ["the daemon speaks protocol 13, this side speaks 14 to 15", "kit there"],
        ),
        (
            |fake| {
                let later = ProtocolRange { oldest: 16, newest: 17 };
                fake.accept(Hello::new(Role::Daemon).with_protocols(later))
            },
            DocaStatus::UNSUPPORTED_VERSION,
            ["the daemon speaks protocol 16 to 17, this side speaks 14 to 15", "on this side"],
        ),
        (
            |fake| {
                let mut stream = fake.accept(Hello::new(Role::Daemon));
                let (plugins, cpus) = (vec![], "all of them".to_owned());
                let welcome = DaemonToHost::Welcome { plugins, cpus, max_message: 4096 };
                fake.send(&mut stream, &welcome);
                stream
            },
            DocaStatus::IO_FAILED,
            ["all of them", ""],
        ),
        (
            |fake| fake.accept(Hello::new(Role::Worker)),
            DocaStatus::UNSUPPORTED_VERSION,
            ["daemon", "worker"],
        ),
    ];
    for (accept, expected, parts) in cases {
        let (code, text) = start_with(accept);
        assert_eq!(code, expected, "{text}");
        has(&text, &parts);
    }
}
