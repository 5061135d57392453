//! The daemon's address file: its contents, lifetime and owner.

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use urom_abi::DocaStatus;

use crate::support::client::{Client, any, op};
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command, wait};

fn paths() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("service");
    (directory, file)
}

fn text(path: &Path) -> &str {
    path.to_str().unwrap()
}

fn started(file: &Path) -> Uromd {
    Uromd::start_with(&[], &["--address-file", text(file)])
}

fn refused(file: &Path) -> String {
    let arguments = ["--listen", "127.0.0.1:0", "--address-file", text(file)];
    let output = command().args(arguments).output().unwrap();
    assert!(!output.status.success() && output.stdout.is_empty());
    reason(output)
}

/// Returns the last line without time and process.
fn reason(output: Output) -> String {
    let text = String::from_utf8(output.stderr).unwrap();
    text.split_once("][uromd][CRT] ").expect(&text).1.to_owned()
}

fn first_line(file: &Path) -> String {
    fs::read_to_string(file).unwrap().lines().next().unwrap().to_owned()
}

#[test]
fn the_file_holds_address_and_process_until_the_daemon_is_told_to_end() {
    let (_directory, file) = paths();
    let plugins = Plugins::obedient();
    let mut uromd = Uromd::start_with(&[text(plugins.path())], &["--address-file", text(&file)]);
    let machine = rustix::system::uname().nodename().to_str().unwrap().to_owned();
    let process = uromd.pid().as_raw_nonzero();
    let expected = format!("{}\nprocess {process} on {machine}\n", uromd.address);
    assert_eq!(fs::read_to_string(&file).unwrap(), expected);
    assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o111, 0);
    let host = Client::connect(uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    // Slurm cancels a step like this: both signals to each process.
    let worker = Pid::from_raw(host.pid().try_into().unwrap()).unwrap();
    for signal in [Signal::CONT, Signal::TERM] {
        uromd.signal(signal);
        kill_process(worker, signal).unwrap();
    }
    assert!(uromd.wait().success());
    assert!(!file.exists());
}

#[test]
fn a_daemon_on_all_addresses_is_named_by_its_machine() {
    let (directory, file) = paths();
    let key = directory.path().join("key");
    fs::write(&key, [1; 32]).unwrap();
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
    let arguments = ["--address-file", text(&file), "--key-file", text(&key)];
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let uromd = Uromd::start_at(listen, &[], &arguments);
        let machine = rustix::system::uname().nodename().to_str().unwrap().to_owned();
        assert_eq!(first_line(&file), format!("{machine}:{}", uromd.address.port()));
    }
}

#[test]
fn a_second_daemon_with_the_file_does_not_start_and_names_the_first() {
    let (_directory, file) = paths();
    let mut first = started(&file);
    let error = refused(&file);
    let process = format!("process {} on ", first.pid().as_raw_nonzero());
    for part in [&process, &first.address.to_string(), text(&file), "--address-file"] {
        assert!(error.contains(part), "{part} in {error}");
    }
    // The daemon does not try its fixed port, so the error is the same.
    let port = first.address.to_string();
    let arguments = ["--listen", &port, "--address-file", text(&file)];
    let output = command().args(arguments).output().unwrap();
    assert_eq!(reason(output), error);
    assert_eq!(first_line(&file), first.address.to_string());
    first.signal(Signal::TERM);
    assert!(first.wait().success() && !file.exists());
}

#[test]
fn of_many_daemons_that_start_at_once_one_has_the_file() {
    let (_directory, file) = paths();
    let mut command = command();
    command.args(["--listen", "127.0.0.1:0", "--address-file", text(&file)]);
    command.stdout(Stdio::piped()).stderr(Stdio::null());
    let mut all: Vec<_> = (0..8).map(|_| command.spawn().unwrap()).collect();
    while all.len() > 1 {
        all.retain_mut(|one| one.try_wait().unwrap().is_none_or(|status| status.success()));
        std::thread::yield_now();
    }
    let left = &mut all[0];
    let mut line = String::new();
    let output = left.stdout.take().unwrap();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert_eq!(line, format!("uromd: listening on {}\n", first_line(&file)));
    kill_process(Pid::from_child(left), Signal::TERM).unwrap();
    assert!(wait(left).success() && !file.exists());
}

#[test]
fn a_stale_file_is_taken_over() {
    let (_directory, file) = paths();
    let mut killed = started(&file);
    killed.signal(Signal::KILL);
    killed.wait();
    assert_eq!(first_line(&file), killed.address.to_string());
    let uromd = started(&file);
    assert_eq!(first_line(&file), uromd.address.to_string());
    assert_ne!(uromd.address, killed.address);
}

#[test]
fn a_file_that_was_replaced_is_left_to_its_owner() {
    let (_directory, file) = paths();
    let mut uromd = started(&file);
    fs::remove_file(&file).unwrap();
    let second = started(&file);
    uromd.signal(Signal::TERM);
    assert!(uromd.wait().success());
    assert_eq!(first_line(&file), second.address.to_string());
}

#[test]
fn a_path_that_cannot_be_an_address_file_is_refused_with_its_name() {
    let (directory, file) = paths();
    let (missing, below) = (directory.path().join("missing/service"), file.join("service"));
    fs::write(&file, "#!/bin/sh\nexit 1\n").unwrap();
    let notes = directory.path().join("notes");
    let noted = "127.0.0.1:7\nprocess of mine, do not delete\n";
    fs::write(&notes, noted).unwrap();
    let pipe = directory.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for (path, part) in [
        (directory.path(), "Is a directory"),
        (&missing, "No such file or directory"),
        (&below, "Not a directory"),
        (&pipe, "not a regular file"),
        (Path::new("/dev/null"), "not a regular file"),
        // Not even root can write there.
        (Path::new("/proc/version"), "--address-file"),
        (&file, "is not an address file and stays"),
        (&notes, "is not an address file and stays"),
    ] {
        let error = refused(path);
        assert!(error.contains(part) && error.contains(text(path)), "{error}");
    }
    assert_eq!(fs::read_to_string(&file).unwrap(), "#!/bin/sh\nexit 1\n");
    assert_eq!(fs::read_to_string(&notes).unwrap(), noted);
}
