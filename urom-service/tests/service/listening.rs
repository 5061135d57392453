//! A worker process's inheritance from the daemon: listening addresses and environment.

use std::collections::HashSet;
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use urom_abi::{DocaError, DocaStatus};
use urom_wire::control::StartWorker;

use crate::support::client::{any, attached, op, served, served_with};
use crate::support::is_reached_over_tcp;
use crate::support::uromd::Uromd;
use urom_os::test_daemon::TOOLS;

fn open_of(pid: u64) -> HashSet<String> {
    let links = fs::read_dir(format!("/proc/{pid}/fd")).unwrap();
    links
        .filter_map(|entry| {
            fs::read_link(entry.ok()?.path()).ok()?.into_os_string().into_string().ok()
        })
        .collect()
}

fn listens(pid: u64) -> Vec<IpAddr> {
    let sockets = open_of(pid);
    let mut found = Vec::new();
    for table in ["tcp", "tcp6"] {
        let Ok(text) = fs::read_to_string(format!("/proc/{pid}/net/{table}")) else { continue };
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            const LISTENING: &str = "0A";
            if fields[3] == LISTENING && sockets.contains(&format!("socket:[{}]", fields[9])) {
                found.push(address(fields[1].split(':').next().unwrap()));
            }
        }
    }
    found
}

/// Parses the kernel's format: words of 32 bits in native byte order.
fn address(hex: &str) -> IpAddr {
    let word = |at: usize| u32::from_str_radix(&hex[at..at + 8], 16).unwrap().to_ne_bytes();
    match hex.len() {
        8 => Ipv4Addr::from(word(0)).into(),
        _ => {
            let bytes: Vec<u8> = [0, 8, 16, 24].into_iter().flat_map(word).collect();
            Ipv6Addr::from(<[u8; 16]>::try_from(bytes).unwrap()).into()
        }
    }
}

fn names(pid: impl std::fmt::Display) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/environ")).unwrap();
    let text = String::from_utf8_lossy(&text);
    text.split('\0').filter_map(|variable| Some(variable.split_once('=')?.0.to_owned())).collect()
}

#[test]
fn nothing_of_a_loopback_service_listens_anywhere_else() {
    let (uromd, mut client, host) = attached(1);
    // A remote host, which UCX reaches over TCP.
    let same = StartWorker { id: host.started.id, ..any() };
    let afar = is_reached_over_tcp().then(|| client.attach_from_afar(same, 1));
    if let Some(afar) = &afar {
        assert_eq!(afar.call(op::ECHO, 1).status, DocaStatus::SUCCESS);
    }
    for pid in [uromd_pid(&uromd), host.pid()] {
        let addresses = listens(pid);
        assert!(
            !addresses.is_empty() && addresses.iter().all(IpAddr::is_loopback),
            "{addresses:?}"
        );
    }
}

fn uromd_pid(uromd: &Uromd) -> u64 {
    uromd.pid().as_raw_nonzero().get().try_into().unwrap()
}

#[test]
fn a_worker_finds_what_it_needs_and_what_was_asked_for_and_nothing_else() {
    let (uromd, mut client) = served_with(&["--worker-env", "GIVEN=yes", "--worker-env", "CARGO"]);
    let env = Some(vec!["UROM_ASKED=yes".to_owned()]);
    let host = client.attach(StartWorker { env, ..any() }, 1);
    let names = names(host.pid());
    let known = [
        "GLIBC_TUNABLES",
        "PATH",
        "LD_LIBRARY_PATH",
        "RUST_BACKTRACE",
        "RUST_LIB_BACKTRACE",
        "GIVEN",
        "CARGO",
        "UROM_ASKED",
    ];
    for name in &names {
        let is_known = known.contains(&name.as_str()) || TOOLS.contains(&name.as_str());
        assert!(is_known || name.starts_with("UCX_"), "{name} of {names:?}");
    }
    for name in ["GIVEN", "UROM_ASKED", "PATH", "UCX_NET_DEVICES"] {
        assert!(names.iter().any(|there| there == name), "no {name} in {names:?}");
    }
    // The daemon has more variables.
    let daemons = self::names(uromd_pid(&uromd));
    assert!(daemons.iter().any(|name| name == "UROM_PLUGIN_PATH"), "{daemons:?}");
}

#[test]
fn a_host_cannot_have_its_worker_load_what_lies_elsewhere() {
    let (_uromd, mut client) = served();
    for name in [
        "LD_PRELOAD",
        "LD_LIBRARY_PATH",
        "UCX_MODULE_DIR",
        "UCX_PLUGIN_PATH",
        "RDMAV_DRIVERS",
        "IBV_DRIVERS",
        "HOME",
    ] {
        let env = Some(vec![format!("{name}=/tmp/x.so")]);
        let failure = client.start(StartWorker { env, ..any() }).err().unwrap();
        assert_eq!(failure.code, DocaError::NOT_PERMITTED, "{failure}");
        assert!(failure.text.contains(name) && failure.text.contains("--worker-env"), "{failure}");
    }
}

#[test]
fn a_host_cannot_have_its_worker_listen_on_other_devices() {
    let (_uromd, mut client) = served();
    let env = Some(vec!["UCX_LOG_LEVEL=warn".to_owned(), "UCX_NET_DEVICES=all".to_owned()]);
    let failure = client.start(StartWorker { env, ..any() }).err().unwrap();
    assert_eq!(failure.code, DocaError::NOT_PERMITTED, "{failure}");
    assert!(failure.text.contains("UCX_NET_DEVICES"), "{failure}");
    // Without the forbidden variable, the worker starts.
    let env = Some(vec!["UCX_LOG_LEVEL=warn".to_owned(), "UCX_TLS=posix,tcp,self".to_owned()]);
    let host = client.attach(StartWorker { env, ..any() }, 1);
    let name = [&op::GETENV.to_le_bytes()[..], b"UCX_TLS\0"].concat();
    host.send(0, &name);
    assert_eq!(host.note().payload.unwrap(), b"posix,tcp,self");
}
