//! Keys: addresses that need one, and refusals of hosts without the right one.

use std::fs;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::process::Signal;
use ucx::{AmFlags, WorkerAddress};
use urom_abi::DocaStatus;
use urom_wire::control::{HostToWorker, StartWorker, WorkerToHost};
use urom_wire::envelope::{AM_COMMANDS, Envelope, VerificationTag};
use urom_wire::fuzzing::frames as bytes_of;
use urom_wire::hello::{HELLO_LEN, Hello, Role};
use urom_wire::key::Key;
use urom_wire::plain::Plain;
use urom_wire::proof::{KeyError, OPENING_LEN, Opening, PROOF_LEN};
use urom_wire::stream::StreamError;
use urom_wire::ucx_context::context;

use crate::support::client::{Client, any, op};
use crate::support::link::Link;
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command};

struct Keys(tempfile::TempDir);

impl Keys {
    fn new() -> Keys {
        Keys(tempfile::tempdir().unwrap())
    }

    fn file(&self, name: &str, bytes: &[u8], mode: u32) -> PathBuf {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    }

    /// Creates a valid key as a text that a test can search for.
    fn good(&self, name: &str) -> (PathBuf, Key) {
        let path = self.file(
            name,
            format!("a key of these tests, and its name is {name}").as_bytes(),
            0o600,
        );
        let key = Key::read(&path).unwrap();
        (path, key)
    }
}

fn keyed(listen: &str, plugins: &Plugins, key: &Path) -> Uromd {
    let args = ["--key-file", key.to_str().unwrap()];
    Uromd::start_at(listen, &[plugins.path().to_str().unwrap()], &args)
}

fn refused(args: &[&str]) -> String {
    let output = command().env_remove("UROM_KEY_FILE").args(args).output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty(), "{args:?}");
    String::from_utf8(output.stderr).unwrap()
}

fn key_error(result: Result<Client, StreamError>) -> KeyError {
    match result.map(|_| ()) {
        Err(StreamError::Key(error)) => error,
        other => panic!("an error about the key, not {other:?}"),
    }
}

#[test]
fn without_a_key_it_listens_on_loopback_addresses_only() {
    for listen in [
        "0.0.0.0:0",
        "[::]:0",
        "192.0.2.1",
        "[2001:db8::1]:5",
        "::ffff:0.0.0.0",
        "::ffff:192.0.2.1",
    ] {
        let text = refused(&["--listen", listen]);
        assert!(
            text.contains("with --key-file") && text.contains("/dev/urandom"),
            "{listen}: {text}"
        );
        assert!(text.contains("127.0.0.1"), "{text}");
    }
    for listen in ["127.0.0.1:0", "127.1.2.3:0"] {
        assert!(Client::connect(Uromd::start_at(listen, &[], &[]).address).plugins.is_empty());
    }
}

#[test]
fn a_key_file_that_others_may_read_or_that_is_none_keeps_it_from_starting() {
    let keys = Keys::new();
    let (good, _) = keys.good("good");
    symlink(&good, keys.0.path().join("link")).unwrap();
    keys.file("open", &[7; 32], 0o644);
    keys.file("short", &[7; 31], 0o600);
    keys.file("empty", &[], 0o600);
    keys.file("long", &[7; 4097], 0o600);
    for (name, reason) in [
        ("open", "has mode 0644"),
        ("short", "has 31 bytes"),
        ("empty", "has 0 bytes"),
        ("long", "more than 4096 bytes"),
        ("link", "symbolic link"),
        ("", "not a regular file"),
        ("missing", "cannot be read"),
    ] {
        let file = keys.0.path().join(name);
        // A bad key is an error, even on a loopback address.
        for listen in ["127.0.0.1:0", "0.0.0.0:0"] {
            let text = refused(&["--listen", listen, "--key-file", file.to_str().unwrap()]);
            assert!(text.contains("the key file ") && text.contains(reason), "{name}: {text}");
        }
    }
}

#[test]
fn a_host_with_the_key_is_served_on_every_address() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let (file, key) = keys.good("right");
    for listen in ["0.0.0.0:0", "127.0.0.1:0"] {
        let uromd = keyed(listen, &plugins, &file);
        let address = SocketAddr::from((Ipv4Addr::LOCALHOST, uromd.address.port()));
        let mut client = Client::connect_with(address, Some(&key)).unwrap();
        assert_eq!(client.plugins.len(), 1);
        let mut started = client.start(StartWorker { id: 5, ..any() }).unwrap();
        started.address.set_ip(address.ip());
        let host = client.enter(started, 1);
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
}

#[test]
fn the_environment_names_a_key_file_too_and_an_argument_wins() {
    let keys = Keys::new();
    let (file, key) = keys.good("right");
    let open = keys.file("open", &[7; 32], 0o644);
    let run = |args: &[&str]| {
        let mut command = command();
        command.env("UROM_KEY_FILE", &open).args(["--listen", "0.0.0.0:0"]).args(args);
        command.output().unwrap()
    };
    let text = String::from_utf8(run(&[]).stderr).unwrap();
    assert!(text.contains(open.to_str().unwrap()) && text.contains("mode 0644"), "{text}");
    let uromd = Uromd::start_at("0.0.0.0:0", &[], &["--key-file", file.to_str().unwrap()]);
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, uromd.address.port()));
    assert!(Client::connect_with(address, Some(&key)).is_ok());
}

#[test]
fn a_host_with_another_key_or_none_is_turned_away_and_both_are_told() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let ((file, _), (_, other)) = (keys.good("right"), keys.good("wrong"));
    let uromd = keyed("127.0.0.1:0", &plugins, &file);
    assert_eq!(
        key_error(Client::connect_with(uromd.address, Some(&other))),
        KeyError::NotTaken(Role::Daemon)
    );
    uromd.logged(&["refused host", "its key is another one"]);
    assert_eq!(
        key_error(Client::connect_with(uromd.address, None)),
        KeyError::Missing(Role::Daemon)
    );
    uromd.logged(&["refused host", "it lacks a key", "UROM_KEY_FILE"]);
}

#[test]
fn a_host_with_a_key_does_not_talk_to_a_daemon_without() {
    let keys = Keys::new();
    let (_, key) = keys.good("right");
    let uromd = Uromd::start_at("127.0.0.1:0", &[], &[]);
    assert_eq!(
        key_error(Client::connect_with(uromd.address, Some(&key))),
        KeyError::NotAsked(Role::Daemon)
    );
    uromd.logged(&["refused host", "this service does not", "--key-file"]);
}

/// Sends bytes without a key, and returns the answer until the end of the stream.
fn heard(address: SocketAddr, said: &[u8]) -> Vec<u8> {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(said).unwrap();
    let mut heard = Vec::new();
    // Any end is fine: the daemon may have reset the connection because of unread bytes.
    let _ = stream.shutdown(std::net::Shutdown::Write);
    let _ = stream.read_to_end(&mut heard);
    heard
}

#[test]
fn a_host_without_the_key_cannot_tell_whether_there_are_plugins() {
    let (plugins, none, keys) = (Plugins::obedient(), Plugins::new(), Keys::new());
    let (file, _) = keys.good("right");
    let daemons = [keyed("127.0.0.1:0", &plugins, &file), keyed("127.0.0.1:0", &none, &file)];
    let hello = Hello::new(Role::Host);
    for keyed in [0, 1] {
        let opening = Opening { keyed, challenge: [9; 32] };
        for proof in [0, PROOF_LEN - 1, PROOF_LEN, 10 * PROOF_LEN] {
            let said = [hello.as_bytes(), opening.as_bytes(), &vec![5; proof]].concat();
            for daemon in &daemons {
                let heard = heard(daemon.address, &said);
                // The daemon only refuses a wrong proof explicitly.
                let refused = if keyed == 1 && proof >= PROOF_LEN { PROOF_LEN } else { 0 };
                assert!(
                    heard.len() == HELLO_LEN + OPENING_LEN
                        || heard.len() == HELLO_LEN + OPENING_LEN + refused
                );
                assert!(heard[HELLO_LEN + OPENING_LEN..].iter().all(|byte| *byte == 0));
                // Everything except the challenge is constant.
                assert_eq!(heard[..HELLO_LEN], *Hello::new(Role::Daemon).as_bytes());
                assert_eq!(heard[HELLO_LEN], 1);
            }
        }
    }
}

#[test]
fn a_worker_asks_for_the_key_too_and_a_token_alone_opens_nothing() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let ((file, key), (_, other)) = (keys.good("right"), keys.good("wrong"));
    let uromd = keyed("127.0.0.1:0", &plugins, &file);
    let mut client = Client::connect_with(uromd.address, Some(&key)).unwrap();
    let started = client.start(StartWorker { id: 5, ..any() }).unwrap();
    for (secret, expected) in [
        (None, KeyError::Missing(Role::Worker)),
        (Some(other.worker_secret(5)), KeyError::NotTaken(Role::Worker)),
        // Keys for another worker, and for the daemon.
        (Some(key.worker_secret(6)), KeyError::NotTaken(Role::Worker)),
        (Some(key.daemon_secret()), KeyError::NotTaken(Role::Worker)),
    ] {
        let hello = Hello::new(Role::Host);
        let link: Result<Link<WorkerToHost, HostToWorker>, _> =
            Link::open(started.address, hello, Role::Worker, secret, || HostToWorker::Ping);
        assert!(matches!(link.err(), Some(StreamError::Key(error)) if error == expected));
    }
    // These attempts did not use up the token.
    assert_eq!(client.enter(started, 1).call(op::ECHO, 1).status, DocaStatus::SUCCESS);
}

#[test]
fn commands_of_who_was_not_let_in_are_dropped_though_they_name_a_host_s_channel() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let (file, key) = keys.good("right");
    let uromd = keyed("127.0.0.1:0", &plugins, &file);
    let mut client = Client::connect_with(uromd.address, Some(&key)).unwrap();
    let host = client.attach_from_afar(any(), 16);
    // Without a key, a peer cannot get this address, but it can find ports.
    let unknown = context().build().unwrap().worker().unwrap();
    // SAFETY: from a worker that this test started.
    let address = unsafe { WorkerAddress::from_bytes(&host.address) }.unwrap();
    let endpoint = unknown.endpoint().connect(&address).unwrap();
    let wrong = VerificationTag::new(host.started.token ^ 0x8000_0000);
    let said = "without the verification tag of its host";
    for (tag, lines) in [(wrong, 2), (VerificationTag::default(), 4)] {
        let envelope = Envelope { tag, ..host.envelope };
        // A free slot, and an invalid one, which would end a host's connection.
        for slot in [9, 99] {
            let echo = [op::ECHO.to_le_bytes(), 666u64.to_le_bytes()].concat();
            let message = bytes_of::message(envelope, &host.frame(slot, 0, &echo));
            let _ = endpoint.am_send_with(AM_COMMANDS, &[], message, AmFlags::EAGER).wait();
        }
        uromd.logged_times(lines, said);
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
        assert_eq!(host.waiting(), 0, "an unknown sender's command gets no answer");
    }
}

/// Spellings of bytes in a text: raw, and in hex.
fn spellings(bytes: &[u8]) -> [Vec<u8>; 3] {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    [bytes.to_vec(), hex.to_uppercase().into_bytes(), hex.into_bytes()]
}

#[test]
fn the_key_stands_in_no_command_line_and_no_environment() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let (file, key) = keys.good("right");
    let uromd = keyed("127.0.0.1:0", &plugins, &file);
    let mut client = Client::connect_with(uromd.address, Some(&key)).unwrap();
    let host = client.attach(any(), 1);
    let worker = host.pid();
    // The host joined the worker with the first. Both are written as plain bytes.
    let secrets = [key.worker_secret(host.started.id), key.daemon_secret()]
        .map(|secret| postcard::to_stdvec(&secret).unwrap());
    assert!(secrets.iter().all(|secret| secret.len() == 32));
    let kept = [
        ("the worker's", &secrets[0]),
        ("the daemon's", &secrets[1]),
        ("the key", &fs::read(&file).unwrap()),
    ];
    for process in [worker, uromd.pid().as_raw_pid().unsigned_abs().into()] {
        for what in ["cmdline", "environ"] {
            let text = fs::read(format!("/proc/{process}/{what}")).unwrap();
            assert!(!text.is_empty());
            let has = |part: &[u8]| text.windows(part.len()).any(|window| window == part);
            for (whose, secret) in kept {
                assert!(
                    !spellings(secret).iter().any(|spelling| has(spelling)),
                    "{whose} in {what} of {process}"
                );
            }
            // Only the daemon got the key's path.
            if process == worker {
                assert!(!has(b"key-file") && !has(file.to_str().unwrap().as_bytes()), "{what}");
            }
        }
    }
    assert_eq!(uromd.lines_with("a key of these tests"), 0);
}

#[test]
fn a_key_is_replaced_without_a_break_by_two_reloads() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let (file, old) = keys.good("key");
    let uromd = keyed("127.0.0.1:0", &plugins, &file);
    let connects = |key: &Key| Client::connect_with(uromd.address, Some(key));
    let mut first = connects(&old).unwrap();
    let host = first.attach(StartWorker { id: 5, ..any() }, 1);

    keys.file("key", b"another key, which replaces the first", 0o600);
    let new = Key::read(&file).unwrap();
    assert_eq!(key_error(connects(&new)), KeyError::NotTaken(Role::Daemon));
    uromd.signal(Signal::HUP);
    uromd.logged(&["reloaded", "a new key"]);
    // Also at the worker, which was started with the old key.
    for key in [&old, &new] {
        let host = connects(key).unwrap().attach(StartWorker { id: 5, ..any() }, 1);
        assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
    uromd.signal(Signal::HUP);
    uromd.logged(&["reloaded", "the same key"]);
    assert_eq!(key_error(connects(&old)), KeyError::NotTaken(Role::Daemon));
    assert!(connects(&new).is_ok());
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS, "it is connected already");
}

#[test]
fn a_key_file_that_cannot_be_read_at_a_reload_leaves_the_key_as_it_is() {
    let (plugins, keys) = (Plugins::obedient(), Keys::new());
    let (file, key) = keys.good("key");
    let uromd = keyed("127.0.0.1:0", &plugins, &file);
    keys.file("key", &[7; 32], 0o644);
    uromd.signal(Signal::HUP);
    uromd.logged(&["ERR", "the present key stays", "mode 0644"]);
    fs::remove_file(&file).unwrap();
    uromd.signal(Signal::HUP);
    uromd.logged(&["ERR", "the present key stays", "cannot be read"]);
    assert!(Client::connect_with(uromd.address, Some(&key)).is_ok());
}
