//! Failures of incomplete contexts and unreachable services. The C programs of `tests/c` call every
//! function with every wrong argument, in every state.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::ptr::null_mut;

use urom_abi::cpu::CpuSet;
use urom_abi::host::CtxState;
use urom_abi::{DocaError, DocaStatus};
use urom_wire::hello::{HELLO_LEN, Hello, Role};
use urom_wire::plain::Plain;
use urom_wire::proof::OPENING_LEN;

use crate::processes::{Plugins, Uromd, embedded};
use crate::support::{At, Engine, OK, TestWorker, failed_start, failure, has, new_service, state};

const INVALID: DocaStatus = DocaStatus::INVALID_VALUE;

#[test]
fn an_unconfigured_worker_does_not_start() {
    let (_plugins, engine, service) = embedded();
    let mut raw = null_mut();
    assert_eq!(c!(doca_urom_worker_create(&mut raw)), OK);
    let ctx = c!(doca_urom_worker_as_ctx(raw));
    let fails = |code, part: &str| {
        assert_eq!(c!(doca_ctx_start(ctx)), code);
        assert!(failure(ctx).contains(part), "{part} in {}", failure(ctx));
        assert_eq!(state(ctx), CtxState::IDLE);
    };
    fails(DocaStatus::NOT_CONNECTED, "doca_pe_connect_ctx");
    assert_eq!(c!(doca_pe_connect_ctx(engine.0, ctx)), OK);
    fails(INVALID, "doca_urom_worker_set_service");
    assert_eq!(c!(doca_urom_worker_set_service(raw, service.raw)), OK);
    fails(INVALID, "doca_urom_worker_set_plugins");
    engine.is_quiet(1000);
    assert_eq!(c!(doca_urom_worker_destroy(raw)), OK);
}

#[test]
fn cpus_are_checked_at_start_when_the_service_did_not_run_before() {
    let plugins = Plugins::obedient();
    let uromd = Uromd::start_with(&plugins, &["--cpus", "0-7"]);
    let engine = Engine::new();
    let service = new_service(&At::Address(uromd.address));
    service.connect(&engine);
    let worker = TestWorker::new(service.raw, &engine, 1, 1);
    let outside: CpuSet = "7-8".parse().unwrap();
    assert_eq!(c!(doca_urom_worker_set_cpuset(worker.raw, outside)), OK);
    assert_eq!(c!(doca_ctx_start(worker.ctx)), DocaError::BAD_STATE);
    has(&failure(worker.ctx), &["does not run"]);
    assert_eq!(c!(doca_ctx_start(service.ctx)), OK);
    let beyond: CpuSet = "1023".parse().unwrap();
    assert_eq!(c!(doca_urom_worker_set_cpuset(worker.raw, beyond)), INVALID);
    let mut cpus = CpuSet::empty();
    assert_eq!(c!(doca_urom_service_get_cpuset(service.raw, &mut cpus)), OK);
    assert_eq!(cpus.to_string(), "0-7");
    assert_eq!(c!(doca_ctx_start(worker.ctx)), INVALID);
    has(&failure(worker.ctx), &["7-8", "0-7"]);
}

fn fails(address: SocketAddr, expected: DocaStatus, reason: &str) {
    let (code, text) = failed_start(&At::Address(address));
    assert_eq!(code, expected, "{text}");
    has(&text, &[&address.to_string(), "the test", reason]);
}

#[test]
fn a_daemon_that_closes_instead_of_a_welcome_is_not_said_to_be_missing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        // A host reconnects after its connection was closed.
        for host in listener.incoming() {
            let (mut host, mut handshake) = (host.unwrap(), [0; HELLO_LEN + OPENING_LEN]);
            host.read_exact(&mut handshake).unwrap();
            host.write_all(Hello::new(Role::Daemon).as_bytes()).unwrap();
            host.write_all(&[0; OPENING_LEN]).unwrap();
        }
    });
    let reason = "closed the connection before it had listed its plugins";
    fails(address, DocaStatus::CONNECTION_RESET, reason);
}

#[test]
fn a_silent_listener_times_out() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    fails(listener.local_addr().unwrap(), DocaStatus::TIME_OUT, "");
}

#[test]
fn a_listener_that_is_no_daemon_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let server = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        std::io::Write::write_all(&mut stream, b"HTTP/1.1 400 Bad Request\r\n\r\n").unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    fails(address, DocaStatus::NOT_CONNECTED, "not a UROM service");
    server.join().unwrap();
}

#[test]
fn a_device_is_open_until_it_is_closed_and_not_while_a_service_has_it() {
    let (mut list, mut count) = (null_mut(), 0);
    assert_eq!(c!(doca_devinfo_create_list(&mut list, &mut count)), OK);
    assert!(count > 0);
    // SAFETY: the library's list has at least one entry.
    let info = unsafe { *list };
    let mut name = [1; 64];
    assert_eq!(c!(doca_devinfo_get_ibdev_name(info, name.as_mut_ptr(), 63)), INVALID);
    assert_eq!(c!(doca_devinfo_get_ibdev_name(info, name.as_mut_ptr(), 64)), OK);
    assert!(name[0] != 0 && name.contains(&0));
    let mut address = [1; 13];
    assert_eq!(c!(doca_devinfo_get_pci_addr_str(info, address.as_mut_ptr())), OK);
    assert!(address[11] != 0 && address[12] == 0);
    let (mut dev, mut again) = (null_mut(), null_mut());
    assert_eq!(c!(doca_dev_open(info, &mut dev)), OK);
    assert_eq!(c!(doca_dev_open(info, &mut again)), OK);
    assert_eq!(c!(doca_devinfo_destroy_list(list)), OK);
    let service = new_service(&At::Environment);
    assert_eq!(c!(doca_urom_service_set_dev(service.raw, null_mut())), INVALID);
    assert_eq!(c!(doca_urom_service_set_dev(service.raw, dev)), OK);
    assert_eq!(c!(doca_dev_close(dev)), OK);
    assert_eq!(c!(doca_dev_close(dev)), DocaError::IN_USE);
    service.destroy();
    assert_eq!(c!(doca_dev_close(dev)), OK);
}
