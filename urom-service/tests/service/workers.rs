//! Workers from their start to their end.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::{HostToWorker, StartWorker, WorkerToHost};
use urom_wire::hello::{Hello, Role};
use urom_wire::stream::StreamError;

use crate::support::client::{
    Client, Connection, Started, any, attached, op, served, served_with, serving,
};
use crate::support::is_reached_over_tcp;
use crate::support::link::Link;
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, wait_gone};

fn kill(pid: u64, signal: Signal) {
    kill_process(Pid::from_raw(i32::try_from(pid).unwrap()).unwrap(), signal).unwrap();
}

fn variable(host: &Connection, name: &str) -> String {
    host.send(0, &[&op::GETENV.to_le_bytes()[..], name.as_bytes()].concat());
    String::from_utf8(host.note().payload.unwrap()).unwrap()
}

#[test]
fn each_worker_is_a_process_with_its_own_environment() {
    let (_uromd, mut client) = served();
    let env = |text: &str| Some(vec![text.to_owned(), "UROM_EMPTY=".to_owned()]);
    let one = client.attach(StartWorker { id: 1, env: env("UROM_WHO=one two=three"), ..any() }, 1);
    let two = client.attach(StartWorker { id: 2, env: env("UROM_WHO=two"), ..any() }, 1);
    assert_ne!(one.pid(), two.pid());
    assert_eq!(
        (variable(&one, "UROM_WHO").as_str(), variable(&two, "UROM_WHO").as_str()),
        ("one two=three", "two")
    );
    assert_eq!(variable(&one, "UROM_PLUGIN_PATH"), "", "of the daemon's, only what a worker needs");
}

#[test]
fn a_launcher_is_started_for_each_worker_with_the_worker_as_its_argument() {
    let launcher = ["--worker-launcher", "env 'LAUNCHED=by env'"];
    let (_uromd, mut client) = served_with(&launcher);
    let (one, two) = (client.attach(any(), 1), client.attach(any(), 1));
    assert_ne!(one.pid(), two.pid());
    for host in [&one, &two] {
        assert_eq!(variable(host, "LAUNCHED"), "by env");
        assert_eq!(host.call(op::ECHO, 5).status, DocaStatus::SUCCESS);
    }
    // A host's variables are set in the launcher's environment.
    let env = Some(vec!["UROM_WHO=one".to_owned()]);
    assert_eq!(variable(&client.attach(StartWorker { env, ..any() }, 1), "UROM_WHO"), "one");
}

#[test]
fn a_launcher_that_does_not_start_or_starts_no_worker_is_told_to_the_host() {
    let plugins = Plugins::obedient();
    for (launcher, why) in
        [("/no/such/launcher -x", "`/no/such/launcher`"), ("false", "exit status: 1")]
    {
        let directory = plugins.path().to_str().unwrap();
        let uromd = Uromd::start_with(&[directory], &["--worker-launcher", launcher]);
        let mut client = Client::connect(uromd.address);
        let failure = client.start(any()).err().unwrap();
        assert!(failure.text.contains(why), "{failure}");
        assert!(client.start(any()).is_err(), "the daemon goes on");
    }
}

#[test]
fn a_worker_runs_on_the_cpus_it_was_given_as_far_as_they_exist() {
    let (uromd, mut client) = served_with(&["--cpus", "0-1000"]);
    let allowed = |host: &Connection| {
        let status = fs::read_to_string(format!("/proc/{}/status", host.pid())).unwrap();
        let line = status.lines().find(|line| line.starts_with("Cpus_allowed_list:")).unwrap();
        line.split_whitespace().nth(1).unwrap().to_owned()
    };
    let first = client.attach(StartWorker { cpus: Some("0,999".to_owned()), ..any() }, 1);
    assert_eq!(allowed(&first), "0");
    let none = client.attach(StartWorker { cpus: Some("999".to_owned()), ..any() }, 1);
    assert_ne!(allowed(&none), "");
    uromd.logged(&["none of its CPUs 999 exists"]);
}

#[test]
fn two_hosts_share_a_worker_and_the_last_one_ends_it() {
    let (uromd, mut first) = served();
    let mut second = Client::connect(uromd.address);
    let worker = || StartWorker { id: 7, ..any() };
    let one = first.attach(worker(), 1);
    let two = second.attach(worker(), 1);
    assert_eq!(one.pid(), two.pid());
    let gone = one.pid();
    drop((one, first));
    assert_eq!(two.call(op::ECHO, 5).status, DocaStatus::SUCCESS);
    drop(two);
    wait_gone(gone);
    // A new worker takes the free id.
    let three = second.attach(worker(), 1);
    assert_ne!(three.pid(), gone);
}

#[test]
fn a_worker_nobody_comes_to_ends_with_the_host_that_asked() {
    let (uromd, mut client) = served();
    client.start(StartWorker { id: 4, gid: 6, ..any() }).unwrap();
    drop(client);
    let mut client = Client::connect(uromd.address);
    let deadline = std::time::Instant::now() + crate::support::TIMEOUT;
    while client.group(6) == [4] {
        assert!(std::time::Instant::now() < deadline, "it stays");
    }
}

#[test]
fn a_token_is_good_once() {
    let (_uromd, _client, host) = attached(1);
    for token in [host.started.token, 0] {
        let started = Started { token, ..host.started };
        let refusal = Connection::attach(started, 1).err().unwrap();
        assert_eq!(refusal.code, DocaError::AUTHENTICATION, "{refusal}");
    }
    assert_eq!(host.call(op::ECHO, 5).status, DocaStatus::SUCCESS);
}

#[test]
fn a_host_that_never_shows_a_token_is_disconnected() {
    let (_uromd, mut client) = served();
    let address = client.start(any()).unwrap().address;
    let begin = Instant::now();
    let link: Link<WorkerToHost, HostToWorker> =
        Link::open(address, Hello::new(Role::Host), Role::Worker, None, || HostToWorker::Ping)
            .unwrap();
    let last = link.until_closed().0.pop();
    let took = begin.elapsed();
    assert!(
        matches!(&last, Some(WorkerToHost::Refused(why)) if why.code == DocaError::AUTHENTICATION),
        "{last:?}"
    );
    // The limit in the guide's page on security; the upper bound allows for a busy machine.
    let limit = Duration::from_secs(2);
    assert!(took + Duration::from_millis(100) >= limit && took < limit * 2, "{took:?}");
}

#[test]
fn a_plugin_that_fails_to_open_is_named_with_its_code_and_never_closed() {
    let plugins = Plugins::new();
    plugins.add_obedient("a_opens", &[]);
    plugins.add_obedient("b_fails", &["-DOPEN_FAILS=21"]);
    plugins.add_obedient("c_is_not_reached", &[]);
    let trace = plugins.path().join("trace");
    let (_uromd, mut client) = serving(&plugins);
    let env = Some(vec![format!("UROM_TRACE_FILE={}", trace.display())]);
    let failure = client.start(StartWorker { plugins: 0b111, env, ..any() }).unwrap_err();
    assert_eq!(failure.code, DocaError::DRIVER);
    assert!(failure.text.contains("`b_fails` did not open"), "{failure}");
    assert_eq!(fs::read_to_string(&trace).unwrap(), "a_opens open\nb_fails open\na_opens close\n");
    assert_eq!(client.attach(any(), 1).call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}

#[test]
fn a_plugin_that_vanished_fails_with_the_loaders_words() {
    let plugins = Plugins::obedient();
    let (_uromd, mut client) = serving(&plugins);
    fs::remove_file(plugins.path().join("obedient.so")).unwrap();
    let failure = client.start(any()).unwrap_err();
    assert_eq!(failure.code, DocaError::NOT_FOUND);
    assert!(failure.text.contains("cannot open shared object file"), "{failure}");
}

#[test]
fn a_worker_that_dies_while_it_starts_is_reported_with_the_cause() {
    let plugins = Plugins::new();
    plugins.add_obedient("crashes", &["-DOPEN_FAILS=(abort(),0)"]);
    let (_uromd, mut client) = serving(&plugins);
    let failure = client.start(any()).unwrap_err();
    assert_eq!(failure.code, DocaError::CONNECTION_RESET);
    assert!(failure.text.contains("SIGABRT"), "{failure}");
}

#[test]
fn a_plugin_that_never_opens_is_cancelled() {
    let plugins = Plugins::new();
    plugins.add_obedient("hangs", &["-DOPEN_HANGS"]);
    let (uromd, mut client) = serving(&plugins);
    let failure = client.start(any()).unwrap_err();
    assert_eq!(failure.code, DocaError::TIME_OUT, "{failure}");
    uromd.logged(&["plugin `hangs` has not returned from `open` for 5 s"]);
}

#[test]
fn a_plugin_that_never_closes_is_named_and_its_worker_ends_all_the_same() {
    let plugins = Plugins::new();
    plugins.add_obedient("hangs", &["-DCLOSE_HANGS"]);
    let (uromd, mut client) = serving(&plugins);
    let host = client.attach(any(), 1);
    let pid = host.pid();
    drop(host);
    wait_gone(pid);
    uromd.logged(&["does not stop in order: plugin `hangs` does not return from `close`"]);
}

#[test]
fn plugins_are_closed_when_the_worker_leaves() {
    let plugins = Plugins::new();
    plugins.add_obedient("one", &[]);
    plugins.add_obedient("two", &[]);
    let trace = plugins.path().join("trace");
    let (_uromd, mut client) = serving(&plugins);
    let env = Some(vec![format!("UROM_TRACE_FILE={}", trace.display())]);
    let host = client.attach(StartWorker { plugins: 0b11, env, ..any() }, 4);
    host.ask(1, op::HOLD, 0);
    let pid = host.pid();
    drop(host);
    wait_gone(pid);
    assert_eq!(fs::read_to_string(&trace).unwrap(), "one open\ntwo open\ntwo close\none close\n");
}

#[test]
fn a_worker_that_is_killed_is_reported_and_its_hosts_are_cut_off() {
    let (uromd, mut client) = served();
    let host = client.attach(StartWorker { id: 8, ..any() }, 1);
    let other = client.attach(any(), 1);
    kill(host.pid(), Signal::KILL);
    let end = host.link.until_closed().1;
    assert!(matches!(end, StreamError::Closed | StreamError::Io(_)), "{end}");
    uromd.logged(&["worker 8 has ended", "SIGKILL"]);
    assert_eq!(other.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    assert_eq!(
        client.attach(StartWorker { id: 8, ..any() }, 1).call(op::ECHO, 1).status,
        DocaStatus::SUCCESS
    );
}

#[test]
fn the_end_of_a_worker_counts_though_a_process_that_its_plugin_started_goes_on() {
    let (uromd, mut client) = served();
    let host = client.attach(StartWorker { id: 8, ..any() }, 1);
    let pid = host.pid();
    let forked = host.call(op::FORK, 0).payload.unwrap();
    kill(pid, Signal::KILL);
    // Based on the stream alone, it would be silent until the daemon's timeout.
    uromd.logged(&["worker 8 has ended", "SIGKILL"]);
    assert_eq!(uromd.lines_with("silent"), 0);
    kill(u64::from_le_bytes(forked.try_into().unwrap()), Signal::KILL);
}

#[test]
fn a_worker_that_is_stopped_is_cancelled_and_killed() {
    let (uromd, mut client) = served();
    let host = client.attach(StartWorker { id: 8, ..any() }, 1);
    let pid = host.pid();
    kill(pid, Signal::STOP);
    uromd.logged(&["worker 8 has ended", "silent"]);
    wait_gone(pid);
}

#[test]
fn a_host_whose_ucx_connection_breaks_is_disconnected() {
    if !is_reached_over_tcp() {
        return;
    }
    let (_uromd, mut client) = served();
    let host = client.attach_from_afar(any(), 4);
    host.ask(1, op::HOLD, 0);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    let refused = host.break_ucx().until_closed().0.into_iter().find_map(|message| match message {
        WorkerToHost::Refused(failure) => Some(failure),
        _ => None,
    });
    assert_eq!(refused.map(|failure| failure.code), Some(DocaError::CONNECTION_RESET));
}

#[test]
fn a_host_that_falls_silent_loses_its_worker() {
    let (uromd, mut client) = served();
    let silent = client.attach(StartWorker { id: 6, ..any() }, 1);
    let alive = client.attach(StartWorker { id: 6, ..any() }, 1);
    let pid = alive.pid();
    silent.link.fall_silent();
    uromd.logged(&["lost the connection to host", "silent"]);
    assert_eq!(alive.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    drop(alive);
    wait_gone(pid);
}
