//! How many places a receive queue in shared memory has: what the kit says, or the environment.

mod common;

use ucx::{AmFlags, Context, Features, Request, Worker};

fn worker() -> Worker {
    let builder = Context::builder(Features::AM).config("TLS", "posix").watched_shared_memory();
    builder.build().unwrap().worker().unwrap()
}

#[test]
#[ignore = "the second process of the test below"]
fn tell_how_many_messages_a_queue_takes() {
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
    sent.into_iter().for_each(Request::detach);
}

/// How many messages a queue takes of a process with these variables.
fn taken(variables: &[(&str, &str)]) -> usize {
    let mut child = common::again("tell_how_many_messages_a_queue_takes");
    child.env_remove("UCX_POSIX_FIFO_SIZE").env_remove("UCX_MM_FIFO_SIZE").envs(variables.iter().copied());
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    let taken = said.lines().find_map(|line| line.split("taken ").nth(1));
    taken.unwrap_or_else(|| panic!("{said}\n{}", String::from_utf8_lossy(&output.stderr))).parse().unwrap()
}

#[test]
fn a_receive_queue_has_few_places_unless_the_environment_says_otherwise() {
    let ours = taken(&[]);
    assert!((32..=64).contains(&ours), "{ours}");
    for variable in ["UCX_POSIX_FIFO_SIZE", "UCX_MM_FIFO_SIZE"] {
        let theirs = taken(&[(variable, "16")]);
        assert!((8..=16).contains(&theirs), "{variable}: {theirs}");
    }
}
