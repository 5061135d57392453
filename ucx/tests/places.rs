//! What a receive queue in shared memory is like: two processes that talk through one must have the same idea of it, so no
//! variable changes it.

mod common;

use ucx::{AmFlags, Context, Features, Request, Worker};

/// What the variables below would make of it.
const VARIABLES: [(&str, &str); 4] = [
    ("UCX_POSIX_FIFO_SIZE", "16"),
    ("UCX_MM_FIFO_SIZE", "16"),
    ("UCX_POSIX_FIFO_ELEM_SIZE", "256"),
    ("UCX_MM_FIFO_ELEM_SIZE", "256"),
];

fn worker() -> Worker {
    let builder = Context::builder(Features::AM).config("TLS", "posix").watched_shared_memory();
    builder.build().unwrap().worker().unwrap()
}

/// The sizes of the pieces of UCX's shared memory that this process has mapped, in KiB.
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
fn tell_what_a_queue_is_like() {
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

/// How many messages a queue takes of a process with these variables, and the pieces of memory.
fn queue(variables: &[(&str, &str)]) -> (usize, Vec<usize>) {
    let mut child = common::again("tell_what_a_queue_is_like");
    for (name, _) in VARIABLES {
        child.env_remove(name);
    }
    let output = child.envs(variables.iter().copied()).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let find = |what: &str| said.lines().find_map(|line| line.split(what).nth(1));
    let (Some(taken), Some(pieces)) = (find("taken "), find("pieces ")) else {
        panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr))
    };
    let pieces = pieces.trim_matches(['[', ']']).split(", ").map(|size| size.parse().unwrap());
    (taken.parse().unwrap(), pieces.collect())
}

#[test]
fn a_receive_queue_has_64_places_for_messages_of_4_kib_whatever_the_environment_says() {
    for variables in [&[][..], &VARIABLES] {
        let (taken, pieces) = queue(variables);
        assert!((32..=64).contains(&taken), "{taken} with {variables:?}");
        let places = 64 * 4224 / 1024;
        assert!(
            pieces.iter().any(|size| (places..places + 16).contains(size)),
            "{pieces:?} with {variables:?}"
        );
    }
}
