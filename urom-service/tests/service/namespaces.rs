//! `uromd` in its own namespaces, as in a container.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::TIMEOUT;
use crate::support::client::{Client, any, op};
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command};

/// A command that runs a program in its own namespaces, as process 1.
fn apart() -> Vec<&'static str> {
    let mut words = vec!["unshare", "--mount-proc", "--pid", "--fork", "--kill-child"];
    if !rustix::process::geteuid().is_root() {
        words.push("--map-root-user");
    }
    words
}

fn status(pid: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.map(|line| line.trim().to_owned())
}

/// All processes, including zombies.
fn all() -> impl Iterator<Item = String> {
    let names = fs::read_dir("/proc").unwrap().map(|entry| entry.unwrap().file_name());
    names.filter_map(|name| name.into_string().ok()).filter(|name| name.parse::<u32>().is_ok())
}

fn child_of(parent: &str) -> Pid {
    let child = all().find(|pid| status(pid, "PPid").is_some_and(|of| of == parent)).unwrap();
    Pid::from_raw(child.parse().unwrap()).unwrap()
}

/// The local number of a process that has the number `inside` in the namespace of `member`.
fn here(inside: u64, member: Pid) -> Pid {
    let namespace = |pid: &str| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
    let wanted = namespace(&member.to_string());
    let of_inside = format!("\t{inside}");
    let found = all().find(|pid| {
        namespace(pid) == wanted
            && status(pid, "NSpid").is_some_and(|all| all.ends_with(&of_inside))
    });
    Pid::from_raw(found.unwrap().parse().unwrap()).unwrap()
}

#[test]
fn a_daemon_that_is_process_1_reaps_the_orphans_of_plugins_and_ends_in_order() {
    let plugins = Plugins::obedient();
    let mut uromd = Uromd::start_behind(&apart(), &[plugins.path().to_str().unwrap()], &[]);
    let first = child_of(&uromd.pid().to_string());
    assert!(status(&first.to_string(), "NSpid").unwrap().ends_with("\t1"));
    let mut client = Client::connect(uromd.address);
    let host = client.attach(any(), 1);
    let forked = host.call(op::FORK, 0).payload.unwrap();
    let orphan = here(u64::from_le_bytes(forked.try_into().unwrap()), first);
    // The daemon kills the orphan together with its parent.
    kill_process(here(host.pid(), first), Signal::KILL).unwrap();
    uromd.logged(&["signal: 9"]);
    let begin = Instant::now();
    while Path::new(&format!("/proc/{orphan}")).exists() {
        let state = status(&orphan.to_string(), "State");
        assert!(begin.elapsed() < TIMEOUT, "the orphan is still there: {state:?}");
        std::thread::yield_now();
    }
    // The daemon noticed its own child's end, and continues.
    client.attach(any(), 1);
    kill_process(first, Signal::TERM).unwrap();
    uromd.logged(&["received SIGTERM"]);
    assert!(uromd.wait().success());
}

fn refused(words: &[&str], arguments: &[&str]) -> (Option<i32>, String) {
    let mut program = Command::new(words[0]);
    program.args(&words[1..]).arg(command().get_program()).args(arguments);
    let output = program.output().unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_daemon_that_is_process_1_and_cannot_start_ends_with_its_code() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let (code, said) = refused(&apart(), &["--listen", &address]);
    assert!(code == Some(1) && said.contains("cannot listen"), "{code:?}: {said}");
    let (code, said) = refused(&apart(), &["--no-such-option"]);
    assert!(code == Some(2) && said.contains("--no-such-option"), "{code:?}: {said}");
}

#[test]
fn a_daemon_without_proc_says_that_it_must_be_mounted() {
    const HIDDEN: &str = "mount -t tmpfs none /proc && exec \"$0\" \"$@\"";
    // As process 1, and as a child of the shell.
    for hidden in [HIDDEN.to_owned(), HIDDEN.replace("exec ", "") + "; exit $?"] {
        let words = [&apart()[..], &["sh", "-c", &hidden]].concat();
        let (code, said) = refused(&words, &["--listen", "127.0.0.1:0"]);
        assert!(code == Some(1) && said.contains("/proc must be mounted"), "{code:?}: {said}");
    }
}
