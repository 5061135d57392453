//! The daemon as a process: its command line, port and end, and peers that are not hosts.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Output;

use rustix::process::{Pid, Signal, kill_process};
use ucx::Version;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::{DaemonToHost, HostToDaemon, StartWorker};
use urom_wire::hello::{Hello, HelloError, ProtocolRange, Role};
use urom_wire::plain::Plain;
use urom_wire::proof::OPENING_LEN;
use urom_wire::stream::StreamError;

use crate::support::client::{Client, any, op, served, serving};
use crate::support::link::Link;
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command, full_pipe, wait, wait_gone};

fn run(args: &[&str]) -> Output {
    command().args(args).output().unwrap()
}

#[test]
fn signals_that_its_parent_ignored_or_blocked_reach_it() {
    let plugins = Plugins::obedient();
    let path = plugins.path().to_str().unwrap();
    let parent = ["env", "--ignore-signal=CHLD,TERM,INT", "--block-signal=CHLD,TERM,INT,HUP"];
    for signal in [Signal::TERM, Signal::INT] {
        let mut uromd = Uromd::start_behind(&parent, &[path], &[]);
        let host = Client::connect(uromd.address).attach(any(), 1);
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
        uromd.signal(signal);
        assert!(uromd.wait().success());
    }
}

#[test]
fn descriptors_that_its_parent_left_open_do_not_reach_workers() {
    let plugins = Plugins::obedient();
    let left = plugins.path().join("left open");
    fs::write(&left, "").unwrap();
    let script = format!("exec 9<'{}' && exec \"$0\" \"$@\"", left.display());
    let path = plugins.path().to_str().unwrap();
    let uromd = Uromd::start_behind(&["sh", "-c", &script], &[path], &[]);
    let host = Client::connect(uromd.address).attach(any(), 1);
    let has = |pid: u64| {
        let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
        links.flatten().any(|link| fs::read_link(link.path()).is_ok_and(|file| file == left))
    };
    assert!(has(uromd.pid().as_raw_pid().unsigned_abs().into()));
    assert!(!has(host.pid()));
}

#[test]
fn a_start_that_fails_ends_though_nobody_reads_why() {
    let (_read, write) = full_pipe();
    let mut uromd =
        command().args(["-m", "1048576", "--max-unread", "1"]).stderr(write).spawn().unwrap();
    assert!(!wait(&mut uromd).success());
}

#[test]
fn it_stops_its_workers_and_answers_what_is_in_flight() {
    let (mut uromd, mut client) = served();
    let host = client.attach(any(), 4);
    let pid = host.pid();
    host.ask(0, op::HOLD, 0);
    host.ask(3, op::HOLD, 0);
    host.ask(1, op::ECHO, 0);
    assert_eq!(host.note().slot, 1);
    uromd.signal(Signal::TERM);
    let mut ended = [host.note(), host.note()];
    ended.sort_by_key(|note| note.slot);
    for (note, slot) in ended.iter().zip([0, 3]) {
        assert_eq!((note.slot, note.status, &note.payload), (slot, DocaStatus::SHUTDOWN, &None));
    }
    assert_eq!(host.refusal().code, DocaError::SHUTDOWN);
    assert!(uromd.wait().success());
    wait_gone(pid);
    assert!(matches!(client.link.until_closed().1, StreamError::Closed | StreamError::Io(_)));
}

#[test]
fn a_plugin_that_hangs_does_not_keep_it_from_ending() {
    let (mut uromd, mut client) = served();
    let host = client.attach(any(), 2);
    let pid = host.pid();
    host.ask(0, op::HANG, 0);
    uromd.signal(Signal::TERM);
    assert!(uromd.wait().success());
    wait_gone(pid);
}

#[test]
fn workers_of_a_killed_daemon_tell_their_hosts_why_and_end_though_a_plugin_hangs_as_it_is_loaded() {
    let plugins = Plugins::obedient();
    plugins.add_obedient("slow", &["-DLOADING_HANGS"]);
    let (mut uromd, mut client) = serving(&plugins);
    let host = client.attach(any(), 2);
    let pid = host.pid();
    host.ask(0, op::HOLD, 0);
    client.ask(StartWorker {
        plugins: 0b10,
        env: Some(vec!["UROM_LOADING_HANGS=1".to_owned()]),
        ..any()
    });
    let line = uromd.logged(&["is starting with slow"]);
    let slow = line.split_once("(process ").unwrap().1.trim_end_matches(')').parse().unwrap();
    uromd.logged(&["worker ", "loading", "slow.so"]);
    uromd.signal(Signal::KILL);
    let failure = host.refusal();
    assert_eq!(failure.code, DocaError::SHUTDOWN);
    let why =
        "was stopped because its daemon has ended: the connection was closed by the other side";
    assert!(failure.text.contains(why), "{failure}");
    wait_gone(pid);
    wait_gone(slow);
    assert!(!uromd.wait().success());
}

#[test]
fn a_worker_that_is_stopped_when_its_daemon_dies_says_so_when_it_goes_on() {
    let (mut uromd, mut client) = served();
    let host = client.attach(any(), 1);
    let pid = host.pid();
    let worker = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(worker, Signal::STOP).unwrap();
    uromd.signal(Signal::KILL);
    assert!(!uromd.wait().success());
    // Like the kernel, unless the session has another process; the worker may have ended already.
    for signal in [Signal::HUP, Signal::CONT] {
        let _ = kill_process(worker, signal);
    }
    let failure = host.refusal();
    assert_eq!(failure.code, DocaError::SHUTDOWN);
    assert!(failure.text.contains("its daemon has ended"), "{failure}");
    wait_gone(pid);
}

#[test]
fn a_second_daemon_on_the_same_port_says_which() {
    let uromd = Uromd::start_with(&[], &[]);
    let address = uromd.address.to_string();
    let output = run(&["--listen", &address]);
    assert!(!output.status.success() && output.stdout.is_empty());
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains(&address) && text.contains("--listen"), "{text}");
}

#[test]
fn flags_that_make_no_sense_are_refused() {
    for args in [
        &["--listen", "nowhere"][..],
        &["--listen", "127.0.0.1:99999"],
        &["-l", "9"],
        &["-l", "71"],
        &["--sdk-log-level", "debug"],
        &["-m", "63"],
        &["-m", "16777216"],
        &["-m", "-1"],
        &["--cpus", ""],
        &["--cpus", "3-1"],
        &["--cpus", "1024"],
        &["--worker-launcher", ""],
        &["--worker-launcher", "'' -x"],
        &["--worker-launcher", "valgrind '-q"],
        &["--max-hosts", "0"],
        &["--max-workers", "-1"],
        &["--max-workers-per-host", "many"],
        &["--plugin-timeout", "0"],
        &["--plugin-timeout", "off"],
        &["--worker-env", ""],
        &["--worker-env", "=x"],
        &["--unknown"],
        &["worker"],
    ] {
        let output = run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(!output.stderr.is_empty() && output.stdout.is_empty(), "{args:?}");
    }
    let help = String::from_utf8(run(&["--help"]).stdout).unwrap();
    assert!(help.contains("--max-msg-size") && !help.contains("worker  "), "{help}");
}

#[test]
fn hosts_may_leave_a_few_messages_unread_at_least() {
    let output = run(&["-m", "1048576", "--max-unread", "4000000"]);
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains("--max-unread has to be at least"), "{said}");
    Uromd::start_with(&[], &["-m", "1048576", "--max-unread", "5000000"]);
}

#[test]
fn a_worker_without_a_daemon_says_so() {
    let args = "worker --id 1 --gid 0 --max-message 64 --max-unread 65536 --max-hosts 1 --peer-timeout off --listen ::1 --log-level 50 \
                --sdk-log-level 50 x.so:1";
    let output = run(&args.split_whitespace().collect::<Vec<_>>());
    assert!(!output.status.success());
    assert!(String::from_utf8(output.stderr).unwrap().contains("started by uromd itself"));
}

#[test]
fn it_reports_cpus_and_limit_as_they_were_given() {
    let uromd = Uromd::start_with(&[], &["--cpus", "0-7,1023", "-m", "70000"]);
    let client = Client::connect(uromd.address);
    assert_eq!((client.cpus.as_str(), client.max_message), ("0-7,1023", 70_000));
    assert!(client.plugins.is_empty());
}

#[test]
fn garbage_on_its_port_is_shut_out_and_hosts_are_served() {
    let uromd = Uromd::obedient(&[]);
    let mut streams: Vec<TcpStream> = Vec::new();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n          "[..], &[0; 64], b"short"] {
        let mut stream = TcpStream::connect(uromd.address).unwrap();
        stream.write_all(bytes).unwrap();
        streams.push(stream);
    }
    // A valid handshake, then a malformed message.
    let mut stream = TcpStream::connect(uromd.address).unwrap();
    stream.write_all(Hello::new(Role::Host).as_bytes()).unwrap();
    stream.write_all(&[0; OPENING_LEN]).unwrap();
    stream.write_all(&[0xff; 100]).unwrap();
    streams.push(stream);
    let mut client = Client::connect(uromd.address);
    assert_eq!(client.attach(any(), 1).call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    for mut stream in streams {
        // Each stream ends, even an incomplete one.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    uromd.logged(&["host's handshake"]);
    uromd.logged(&["lost the connection to host", "malformed message"]);
}

#[test]
fn another_ucx_is_turned_away_with_both_versions_named() {
    let uromd = Uromd::start_with(&[], &[]);
    let theirs = Version { major: 1, minor: 99, patch: 3 };
    let hello = Hello::with_ucx(Role::Host, theirs);
    let link: Result<Link<DaemonToHost, HostToDaemon>, _> =
        Link::open(uromd.address, hello, Role::Daemon, None, || HostToDaemon::Ping);
    let ours = ucx::version();
    match link {
        Err(StreamError::Hello(HelloError::Ucx {
            role: Role::Daemon,
            theirs: daemons,
            ours: mine,
        })) => {
            assert_eq!((daemons, mine), (ours, theirs));
        }
        other => panic!("{:?}", other.err()),
    }
    uromd.logged(&["refused host", &theirs.to_string(), &ours.to_string()]);
}

#[test]
fn a_host_of_the_release_before_is_served_and_older_or_later_hosts_are_turned_away() {
    let uromd = Uromd::start_with(&[], &[]);
    let open = |oldest, newest| {
        let hello = Hello::new(Role::Host).with_protocols(ProtocolRange { oldest, newest });
        Link::<DaemonToHost, HostToDaemon>::open(uromd.address, hello, Role::Daemon, None, || {
            HostToDaemon::Ping
        })
    };
    for ((oldest, newest), agreed, hosts) in
        [((14, 0), 14, 1), ((14, 15), 15, 1), ((15, 16), 15, 2)]
    {
        let _link = open(oldest, newest).unwrap();
        uromd.logged_times(hosts, &format!("connected with protocol {agreed},"));
    }
    for ((oldest, newest), text) in [
        ((13, 0), "the host speaks protocol 13, this side speaks 14 to 15"),
        ((16, 17), "the host speaks protocol 16 to 17, this side speaks 14 to 15"),
    ] {
        let error = open(oldest, newest).err();
        let is_named = matches!(error, Some(StreamError::Hello(HelloError::Protocol { .. })));
        assert!(is_named, "{error:?}");
        uromd.logged(&["refused host", text]);
    }
}

#[test]
fn a_request_that_cannot_be_met_says_why() {
    let plugins = Plugins::obedient();
    plugins.add_obedient("other", &[]);
    let uromd = Uromd::start_with(&[plugins.path().to_str().unwrap()], &["--cpus", "0-7"]);
    let mut client = Client::connect(uromd.address);
    let host = client.attach(StartWorker { id: 5, ..any() }, 1);
    let env = |text: &str| Some(vec![text.to_owned()]);
    let invalid = DocaError::INVALID_VALUE;
    for (worker, code, part) in [
        (StartWorker { plugins: 0, ..any() }, invalid, "0x0"),
        (StartWorker { plugins: 0b101, ..any() }, invalid, "0x5"),
        (StartWorker { env: env("NOTHING"), ..any() }, invalid, "entry 0"),
        (StartWorker { cpus: Some("7-8".to_owned()), ..any() }, invalid, "7-8"),
        (StartWorker { cpus: Some("x".to_owned()), ..any() }, invalid, "x"),
        (StartWorker { id: 5, env: env("A=b"), ..any() }, DocaError::ALREADY_EXIST, "`A`"),
        (StartWorker { id: 5, plugins: 0b11, ..any() }, invalid, "plugins obedient, without other"),
    ] {
        let failure = client.start(worker).unwrap_err();
        assert_eq!(failure.code, code, "{failure}");
        assert!(failure.text.contains(part), "{failure}");
    }
    host.send_bytes(host.frame(0, 1, &[0; 8]));
    assert_eq!(host.note().status, DocaStatus::NOT_FOUND);
    uromd.logged(&["refused a command", "not loaded here, only obedient; start a worker with it"]);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}
