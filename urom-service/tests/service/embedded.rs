//! The embedded service: the same code on threads of this process.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Instant;

use urom_abi::DEFAULT_MAX_MESSAGE;
use urom_abi::describe::section;
use urom_abi::{DocaError, DocaStatus};
use urom_service::embedded::{Embedded, EmbeddedOptions};
use urom_wire::control::StartWorker;

use crate::discovery::{described, replace, source};
use crate::loading::hanging;
use crate::support::TIMEOUT;
use crate::support::client::{Client, any, op};
use crate::support::plugins::Plugins;

fn start(plugins: &Plugins) -> Embedded {
    let plugin_path = Some(plugins.path().into());
    Embedded::start(EmbeddedOptions { plugin_path, ..EmbeddedOptions::default() }).unwrap()
}

#[test]
fn it_serves_in_this_process() {
    let plugins = Plugins::obedient();
    let service = start(&plugins);
    let mut client = Client::connect_with(service.address(), Some(service.key())).unwrap();
    let env = Some(vec!["UROM_WHO=unset".to_owned()]);
    let one = client.attach(StartWorker { id: 1, gid: 4, env, ..any() }, 2);
    let two = client.attach(StartWorker { id: 2, gid: 4, ..any() }, 2);
    assert_eq!(client.group(4), [1, 2]);
    for host in [&one, &two] {
        let pid = u64::from(std::process::id()).to_le_bytes();
        assert_eq!(host.call(op::PID, 0).payload.as_deref(), Some(&pid[..]));
    }
}

#[test]
fn it_lets_nobody_in_without_the_key_that_it_made_for_itself() {
    let (plugins, others) = (Plugins::obedient(), Plugins::obedient());
    let (service, other) = (start(&plugins), start(&others));
    for key in [None, Some(other.key())] {
        assert!(Client::connect_with(service.address(), key).is_err());
    }
    assert_eq!(
        Client::connect_with(service.address(), Some(service.key())).unwrap().plugins.len(),
        1
    );
}

#[test]
fn dropping_it_stops_workers_in_order() {
    let plugins = Plugins::obedient();
    let service = start(&plugins);
    let mut client = Client::connect_with(service.address(), Some(service.key())).unwrap();
    let host = client.attach(any(), 2);
    host.ask(1, op::HOLD, 0);
    assert_eq!(host.call(op::ECHO, 0).status, DocaStatus::SUCCESS);
    let address = service.address();
    drop(service);
    assert_eq!(
        (host.note().status, host.refusal().code),
        (DocaStatus::SHUTDOWN, DocaError::SHUTDOWN)
    );
    assert!(std::net::TcpStream::connect(address).is_err());
}

#[test]
fn one_plugin_path_shares_one_service() {
    let (plugins, others) = (Plugins::obedient(), Plugins::obedient());
    let path = Some(plugins.path().into());
    let first = Embedded::shared(path.clone(), DEFAULT_MAX_MESSAGE).unwrap();
    let again = Embedded::shared(path.clone(), DEFAULT_MAX_MESSAGE).unwrap();
    let other = Embedded::shared(Some(others.path().into()), DEFAULT_MAX_MESSAGE).unwrap();
    assert!(Arc::ptr_eq(&first, &again) && !Arc::ptr_eq(&first, &other));
    let address = first.address();
    drop((first, again));
    // A child of another test has copies of all descriptors until its exec.
    let begin = Instant::now();
    while std::net::TcpStream::connect(address).is_ok() {
        assert!(begin.elapsed() < TIMEOUT, "not stopped with its last user");
        std::thread::yield_now();
    }
    let last = Embedded::shared(path, DEFAULT_MAX_MESSAGE).unwrap();
    assert_eq!(Client::connect_with(last.address(), Some(last.key())).unwrap().plugins.len(), 1);
}

#[test]
fn its_cpus_and_limit_are_those_of_its_options() {
    let plugins = Plugins::obedient();
    let options = EmbeddedOptions {
        plugin_path: Some(plugins.path().into()),
        max_message: Some(1000),
        cpus: Some("0-7".parse().unwrap()),
    };
    let service = Embedded::start(options).unwrap();
    let client = Client::connect_with(service.address(), Some(service.key())).unwrap();
    assert_eq!((client.max_message, client.cpus.as_str()), (1000, "0-7"));
}

#[test]
fn a_plugin_that_was_replaced_is_listed_but_not_loaded_instead_of_the_old_one() {
    let plugins = Plugins::new();
    let text = |name| {
        let text = source("*version = 1; return 0;", "return 0;");
        format!("{text}{}", described(name))
    };
    plugins.add_source("p", &text("first"));
    let service = start(&plugins);
    let connect = || Client::connect_with(service.address(), Some(service.key())).unwrap();
    connect().attach(any(), 1);
    replace(&plugins, "p", &text("second"));
    let mut client = connect();
    let description = client.describe(client.plugins[0].id).unwrap();
    assert_eq!(section::read(&description).unwrap().protocol.name, "second");
    let failure = client.start(any()).unwrap_err();
    assert!(failure.text.contains("replaced") && failure.text.contains("restart"), "{failure}");
}

#[test]
#[ignore = "the other process of the next test: nothing ends it but a signal"]
fn a_program_whose_service_finds_a_plugin_that_hangs() {
    let plugins = Plugins::new();
    plugins.add_source("hang", &hanging());
    // SAFETY: the signal only ends this process, and its parent waits for that.
    unsafe { libc::alarm(20) };
    let service = start(&plugins);
    // A plugin holds the loader's lock, so this program may block for ever from here on.
    let client = Client::connect_with(service.address(), Some(service.key())).unwrap();
    assert!(client.plugins.is_empty());
    loop {
        std::thread::park();
    }
}

#[test]
fn a_program_is_told_which_c_plugin_hangs_as_it_is_loaded_into_it() {
    let mut program = Command::new(std::env::current_exe().unwrap());
    let test = "embedded::a_program_whose_service_finds_a_plugin_that_hangs";
    program.args(["--exact", "--ignored", "--nocapture", test]).stderr(Stdio::piped());
    let mut program = program.stdout(Stdio::null()).spawn().unwrap();
    let log = BufReader::new(program.stderr.take().unwrap()).lines().map(Result::unwrap);
    let line =
        log.take_while(|line| !line.contains("panicked")).find(|line| line.contains("hang.so"));
    program.kill().unwrap();
    program.wait().unwrap();
    let line = line.expect("a line that names the file");
    assert!(line.contains("it is being loaded") && line.contains("uromd"), "{line}");
}
