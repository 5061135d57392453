//! The layout of a receive queue in shared memory does not depend on environment variables.

mod common;

use std::io::Write;
use std::process::Command;

use common::{Process, finish, hex, log, pattern, say, unhex, until};
use ucx::{
    AmData, AmFlags, CloseMode, Context, Endpoint, Features, Request, Worker, WorkerAddress,
};

/// Variables that would change the queue and shorten the segments for long messages.
const VARIABLES: [(&str, &str); 6] = [
    ("UCX_POSIX_FIFO_SIZE", "16"),
    ("UCX_MM_FIFO_SIZE", "16"),
    ("UCX_POSIX_FIFO_ELEM_SIZE", "256"),
    ("UCX_MM_FIFO_ELEM_SIZE", "256"),
    ("UCX_POSIX_SEG_SIZE", "1024"),
    ("UCX_MM_SEG_SIZE", "1024"),
];

/// Longer segments, which would overflow the peer's memory.
const LONGER: [(&str, &str); 2] = [("UCX_POSIX_SEG_SIZE", "65536"), ("UCX_MM_SEG_SIZE", "65536")];

fn worker() -> Worker {
    let builder = Context::builder(Features::AM).config("TLS", "posix").watched_shared_memory();
    builder.build().unwrap().worker().unwrap()
}

fn pieces() -> Vec<usize> {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    let address = |hex: &str| usize::from_str_radix(hex, 16).unwrap();
    let size = |line: &str| {
        let (start, end) = line.split_once(' ').unwrap().0.split_once('-').unwrap();
        (address(end) - address(start)) / 1024
    };
    maps.lines().filter(|line| line.contains("/ucx_shm_posix")).map(size).collect()
}

#[test]
#[ignore = "the second process of the test below"]
fn print_the_layout_of_a_queue() {
    let (receiver, sender) = (worker(), worker());
    let endpoint = sender.endpoint().connect(&receiver.address().unwrap()).unwrap();
    let send = || endpoint.am_send_with(1, &[1; 8], (), AmFlags::EAGER);
    let first = send();
    while !first.is_done() {
        sender.progress();
        receiver.progress();
    }
    let sent: Vec<_> = std::iter::repeat_with(send).take(1000).collect();
    println!("taken {}", sent.iter().filter(|request| request.is_done()).count());
    println!("pieces {:?}", pieces());
    sent.into_iter().for_each(Request::detach);
}

fn process(name: &str, variables: &[(&str, &str)]) -> Command {
    let mut child = common::again(name);
    for (name, _) in VARIABLES {
        child.env_remove(name);
    }
    child.envs(variables.iter().copied());
    child
}

/// The number of messages that fit a queue of a process with these variables, and its segments.
fn queue(variables: &[(&str, &str)]) -> (usize, Vec<usize>) {
    let output = process("print_the_layout_of_a_queue", variables).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let find = |what: &str| said.lines().find_map(|line| line.split(what).nth(1));
    let (Some(taken), Some(pieces)) = (find("taken "), find("pieces ")) else {
        panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    let pieces = pieces.trim_matches(['[', ']']).split(", ").map(|size| size.parse().unwrap());
    (taken.parse().unwrap(), pieces.collect())
}

#[test]
fn a_receive_queue_has_64_slots_of_4_kib_in_every_environment() {
    for variables in [&[][..], &VARIABLES] {
        let (taken, pieces) = queue(variables);
        assert!((32..=64).contains(&taken), "{taken} with {variables:?}");
        let queue_size = 64 * 4224 / 1024;
        assert!(
            pieces.iter().any(|size| (queue_size..queue_size + 16).contains(size)),
            "{pieces:?} with {variables:?}"
        );
    }
}

/// Some fit a slot, some a memory segment, some neither.
const LENGTHS: [usize; 6] = [8, 4000, 5000, 8000, 20_000, 100_000];

fn connect(worker: &Worker, bytes: &[u8]) -> Endpoint {
    // SAFETY: an address of another process of this test.
    let address = unsafe { WorkerAddress::from_bytes(bytes) }.unwrap();
    worker.connect(&address).unwrap()
}

fn talk(worker: &Worker, endpoint: &Endpoint) {
    let (came, log) = log();
    let whole = move |data: &[u8]| LENGTHS.contains(&data.len()) && data == pattern(data.len());
    let handler = move |message: ucx::Message<'_>| match message.data {
        AmData::Eager(data) => log.borrow_mut().push(whole(data)),
        AmData::Rendezvous(_) => log.borrow_mut().push(false),
    };
    worker.set_am_handler(1, handler).unwrap();
    const COUNT: usize = 128;
    let send = |&len: &usize| endpoint.am_send_with(1, &[1; 8], pattern(len), AmFlags::EAGER);
    for sent in LENGTHS.iter().cycle().take(COUNT).map(send).collect::<Vec<_>>() {
        assert_eq!(finish(&[worker], sent).0, Ok(()));
    }
    until(&[worker], "the peer's messages", || came.borrow().len() == COUNT);
    assert!(came.borrow().iter().all(|whole| *whole), "{came:?}");
}

#[test]
#[ignore = "the second process of the test below"]
fn talk_to_a_parent() {
    let worker = worker();
    say(worker.address().unwrap().as_bytes());
    let mut address = String::new();
    std::io::stdin().read_line(&mut address).unwrap();
    let endpoint = connect(&worker, &unhex(address.trim()));
    talk(&worker, &endpoint);
    assert_eq!(finish(&[&worker], endpoint.flush()).0, Ok(()));
    endpoint.close(CloseMode::Flush);
    say(b"all came");
}

#[test]
fn long_messages_arrive_whole_between_processes_of_different_environments() {
    for variables in [&[][..], &VARIABLES, &LONGER] {
        let mut other = Process::start(process("talk_to_a_parent", variables));
        let address = other.heard().expect("it says where it is");
        let worker = worker();
        let own = worker.address().unwrap();
        writeln!(other.child.stdin.take().unwrap(), "{}", hex(own.as_bytes())).unwrap();
        let endpoint = connect(&worker, &address);
        talk(&worker, &endpoint);
        until(&[&worker], "the other process", || other.child.try_wait().unwrap().is_some());
        assert_eq!(other.heard().as_deref(), Some(&b"all came"[..]), "{variables:?}");
    }
}
