//! Messages of the daemon to the service manager that started it.

use std::io::{BufRead, BufReader, ErrorKind};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use rustix::process::{Pid, Signal, kill_process};
use urom_abi::DocaStatus;

use crate::support::TIMEOUT;
use crate::support::client::{Client, any, op};
use crate::support::plugins::Plugins;
use crate::support::uromd::{Uromd, command, full_pipe, wait};

struct Manager {
    socket: UnixDatagram,
    name: String,
}

impl Manager {
    fn at_a_path(directory: &tempfile::TempDir) -> Manager {
        let path = directory.path().join("notify");
        Manager {
            socket: UnixDatagram::bind(&path).unwrap(),
            name: path.to_str().unwrap().to_owned(),
        }
    }

    fn with_an_abstract_name() -> Manager {
        let name = format!("urom-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(&name).unwrap();
        Manager { socket: UnixDatagram::bind_addr(&address).unwrap(), name: format!("@{name}") }
    }

    /// systemd's variables for a daemon that reports every `usec / 2` microseconds.
    fn watches(&self, usec: u32) -> [(&str, String); 2] {
        [("NOTIFY_SOCKET", self.name.clone()), ("WATCHDOG_USEC", usec.to_string())]
    }

    fn hears(&self) -> String {
        let mut message = [0; 64];
        self.socket.set_read_timeout(Some(TIMEOUT)).unwrap();
        let length = self.socket.recv(&mut message).expect("a message in time");
        String::from_utf8(message[..length].to_vec()).unwrap()
    }
}

#[test]
fn the_manager_hears_that_the_daemon_is_ready_lives_and_stops() {
    let directory = tempfile::tempdir().unwrap();
    for manager in [Manager::at_a_path(&directory), Manager::with_an_abstract_name()] {
        let mut uromd = Uromd::start_with_env(&manager.watches(20_000), &[]);
        assert_eq!(manager.hears(), "READY=1");
        Client::connect(uromd.address);
        for _ in 0..5 {
            assert_eq!(manager.hears(), "WATCHDOG=1");
        }
        uromd.signal(Signal::TERM);
        while manager.hears() != "STOPPING=1" {}
        assert!(uromd.wait().success());
    }
}

#[test]
fn a_daemon_that_nobody_watches_says_when_it_is_ready_and_stops_and_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::at_a_path(&directory);
    let mut others = manager.watches(1000).to_vec();
    others.push(("WATCHDOG_PID", "1".to_owned()));
    for variables in [&manager.watches(0)[..], &others] {
        let mut uromd = Uromd::start_with_env(variables, &[]);
        Client::connect(uromd.address);
        uromd.signal(Signal::TERM);
        assert!(uromd.wait().success());
        assert_eq!([manager.hears(), manager.hears()], ["READY=1", "STOPPING=1"]);
        manager.socket.set_nonblocking(true).unwrap();
        assert_eq!(manager.socket.recv(&mut []).unwrap_err().kind(), ErrorKind::WouldBlock);
        manager.socket.set_nonblocking(false).unwrap();
    }
}

#[test]
fn a_manager_that_does_not_read_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::at_a_path(&directory);
    let filler = UnixDatagram::unbound().unwrap();
    filler.set_nonblocking(true).unwrap();
    while filler.send_to(b"x", &manager.name).is_ok() {}
    let plugins = Plugins::obedient();
    let mut uromd =
        Uromd::start_with_env(&manager.watches(1000), &[plugins.path().to_str().unwrap()]);
    uromd.logged(&["does not learn yet that this service is ready"]);
    let host = Client::connect(uromd.address).attach(any(), 1);
    assert_eq!(host.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    while manager.hears() != "READY=1" {}
    uromd.signal(Signal::TERM);
    assert!(uromd.wait().success());
}

#[test]
fn a_standard_output_that_nobody_reads_keeps_nobody_waiting() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::at_a_path(&directory);
    let (read, write) = full_pipe();
    let mut command = command();
    command.envs(manager.watches(0)).args(["--listen", "127.0.0.1:0"]).stdout(write);
    let mut uromd = command.spawn().unwrap();
    drop(command);
    assert_eq!(manager.hears(), "READY=1");
    let mut line = String::new();
    BufReader::new(read).read_line(&mut line).unwrap();
    let address = line.trim().rsplit(' ').next().unwrap().parse().unwrap();
    Client::connect(address);
    kill_process(Pid::from_child(&uromd), Signal::TERM).unwrap();
    assert!(wait(&mut uromd).success());
}

#[test]
fn a_daemon_whose_manager_is_not_there_serves_hosts_and_says_so() {
    for (name, part) in [
        ("/no/such/socket", "yet that this service is ready"),
        ("nonsense", "NOTIFY_SOCKET=nonsense"),
    ] {
        let uromd = Uromd::start_with_env(&[("NOTIFY_SOCKET", name.to_owned())], &[]);
        uromd.logged(&[part]);
        Client::connect(uromd.address);
    }
}

#[test]
fn a_manager_that_is_not_there_yet_hears_that_the_daemon_is_ready() {
    let directory = tempfile::tempdir().unwrap();
    let manager = Manager::at_a_path(&directory);
    let path = std::path::Path::new(&manager.name);
    let aside = directory.path().join("aside");
    std::fs::rename(path, &aside).unwrap();
    let uromd = Uromd::start_with_env(&manager.watches(0), &[]);
    Client::connect(uromd.address);
    std::fs::rename(&aside, path).unwrap();
    assert_eq!(manager.hears(), "READY=1");
}
