//! What setters and calls say in wrong states, to nonsense, and to null; and why a service cannot
//! be reached.

use std::any::TypeId;
use std::ffi::{CString, c_char};
use std::io::{Read, Write};
use std::mem::MaybeUninit;
use std::net::{SocketAddr, TcpListener};
use std::ptr::{self, null, null_mut};

use urom_abi::DocaError;
use urom_abi::cpu::CpuSet;
use urom_abi::host::CtxState;
use urom_wire::hello::{HELLO_LEN, Hello, Role};
use urom_wire::proof::OPENING_LEN;
use zerocopy::IntoBytes;

use crate::processes::{Plugins, Uromd, embedded};
use crate::support::{
    At, Engine, OK, TestService, TestWorker, failed_start, failure, has, new_service, state,
};

const INVALID: DocaError = DocaError::INVALID_VALUE;
const BAD: DocaError = DocaError::BAD_STATE;

/// An argument of zeros: NULL, 0, no function.
fn zero<T: Copy>(_: &str) -> T {
    // SAFETY: arguments of the table are pointers, numbers, unions and sets of numbers, and options
    // of functions.
    unsafe { MaybeUninit::zeroed().assume_init() }
}

/// Whether it is what a function returns that did nothing.
fn is_nothing<T: Copy + 'static>(answer: T) -> bool {
    let size = size_of::<T>();
    // SAFETY: what functions of the table return has no padding.
    let bytes = unsafe { std::slice::from_raw_parts(ptr::from_ref(&answer).cast::<u8>(), size) };
    let nothing = if TypeId::of::<T>() == TypeId::of::<DocaError>() { INVALID.0 } else { 0 };
    bytes.iter().eq(nothing.to_le_bytes().iter().chain(&[0; 8]).take(size))
}

/// Calls all functions with NULL for the first argument, and zeros for all others.
macro_rules! call_all {
    (urom { $($urom:tt)* } core { $($core:tt)* }) => { call_all! { $($urom)* $($core)* } };
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:ident: $type:ty),* $(,)?) $(-> $answer:ty)?;
    )*) => {$(
        assert!(is_nothing(c!($name($(zero(stringify!($argument))),*))), stringify!($name));
    )*};
}

#[test]
fn null_is_invalid_everywhere() {
    urom_abi::host_functions!(call_all);
    // With places for the results, too.
    let (mut count, mut size, mut id, mut cpus) = (0, 0, 0, CpuSet::empty());
    let (mut plugins, mut data) = (null(), null_mut());
    for code in [
        c!(doca_urom_service_get_plugins_list(null_mut(), &mut plugins, &mut size)),
        c!(doca_urom_service_get_cpuset(null_mut(), &mut cpus)),
        c!(doca_urom_worker_get_id(null_mut(), &mut id)),
        c!(doca_urom_worker_get_gid(null_mut(), &mut count)),
        c!(doca_ctx_get_num_inflight_tasks(null(), &mut size)),
        c!(doca_pe_get_num_inflight_tasks(null(), &mut size)),
        c!(doca_buf_get_data(null(), &mut data)),
        c!(doca_buf_get_data_len(null(), &mut size)),
    ] {
        assert_eq!(code, INVALID);
    }
}

#[test]
fn values_that_make_no_sense_are_refused_and_the_next_good_one_is_not() {
    let service = new_service(&At::Environment);
    for size in [0, 63, 1 << 24, usize::MAX] {
        assert_eq!(
            c!(doca_urom_service_set_max_comm_msg_size(service.raw, size)),
            INVALID,
            "{size}"
        );
    }
    assert_eq!(c!(doca_urom_service_set_max_comm_msg_size(service.raw, 64)), OK);
    for count in [0, 3, 6, u32::MAX] {
        assert_eq!(c!(doca_urom_service_set_max_workers(service.raw, count)), INVALID, "{count}");
    }
    assert_eq!(c!(doca_urom_service_set_max_workers(service.raw, 32)), OK);
    for (address, code) in [("", INVALID), ("host:0", INVALID), ("a b", INVALID), ("host:5", OK)] {
        let address = CString::new(address).unwrap();
        let told = x!(urom_service_set_address(service.raw, address.as_ptr(), null()));
        assert_eq!(told, code, "{address:?}");
    }
    let mut worker = null_mut();
    assert_eq!(c!(doca_urom_worker_create(&mut worker)), OK);
    for mask in [0, 1 << 62, 1 << 63, u64::MAX] {
        assert_eq!(c!(doca_urom_worker_set_plugins(worker, mask)), INVALID, "{mask:#x}");
    }
    assert_eq!(c!(doca_urom_worker_set_plugins(worker, (1 << 62) - 1)), OK);
    for count in [0, 65_537, u32::MAX] {
        assert_eq!(c!(doca_urom_worker_set_max_inflight_tasks(worker, count)), INVALID, "{count}");
    }
    for count in [1, 3, 65_536] {
        assert_eq!(c!(doca_urom_worker_set_max_inflight_tasks(worker, count)), OK, "{count}");
    }
    assert_eq!(c!(doca_urom_worker_set_cpuset(worker, CpuSet::empty())), INVALID);
    let env = |entries: &[*mut c_char]| {
        c!(doca_urom_worker_set_env(worker, entries.as_ptr(), entries.len()))
    };
    for bad in [
        &[][..],
        &[c"NOTHING".as_ptr().cast_mut()],
        &[c"=x".as_ptr().cast_mut()],
        &[c"A=1".as_ptr().cast_mut(), null_mut()],
        &[c"A=\xff".as_ptr().cast_mut()],
        &[c"A=".as_ptr().cast_mut(); 4097],
    ] {
        assert_eq!(env(bad), INVALID, "{bad:?}");
    }
    assert_eq!(c!(doca_urom_worker_set_env(worker, null(), 1)), INVALID);
    assert_eq!(
        c!(doca_urom_worker_set_env(worker, [c"A=".as_ptr().cast_mut()].as_ptr(), usize::MAX)),
        INVALID
    );
    assert_eq!(env(&[c"A=a b=c".as_ptr().cast_mut(); 4096]), OK);
    let mut gid = 9;
    assert_eq!((c!(doca_urom_worker_get_gid(worker, &mut gid)), gid), (OK, 0));
    assert_eq!(c!(doca_urom_worker_set_gid(worker, 4)), OK);
    assert_eq!((c!(doca_urom_worker_get_gid(worker, &mut gid)), gid), (OK, 4));
    assert_eq!(c!(doca_urom_worker_destroy(worker)), OK);
    service.destroy();
}

#[test]
fn a_context_of_one_kind_is_not_taken_for_another() {
    let service = new_service(&At::Environment);
    assert_eq!(c!(doca_urom_worker_set_id(service.raw.cast(), 1)), INVALID);
    assert_eq!(c!(doca_urom_worker_destroy(service.raw.cast())), INVALID);
    assert_eq!(c!(doca_pe_destroy(service.raw.cast())), INVALID);
    let engine = Engine::new();
    assert_eq!(c!(doca_urom_service_destroy(engine.0.cast())), INVALID);
    assert_eq!(c!(doca_ctx_start(engine.0.cast())), INVALID);
    service.destroy();
}

#[test]
fn set_up_calls_in_a_wrong_state_are_refused() {
    let plugins = Plugins::obedient();
    let engine = Engine::new();
    let service = new_service(&At::Embedded(plugins.path()));
    let (mut list, mut count, mut cpus, mut query) = (null(), 0, CpuSet::empty(), null_mut());
    // Idle.
    assert_eq!(c!(doca_urom_service_get_plugins_list(service.raw, &mut list, &mut count)), BAD);
    assert_eq!(c!(doca_urom_service_get_cpuset(service.raw, &mut cpus)), BAD);
    assert_eq!(
        c!(doca_urom_service_get_workers_by_gid_task_allocate(service.raw, &mut query)),
        BAD
    );
    assert_eq!(c!(doca_ctx_start(service.ctx)), DocaError::NOT_CONNECTED);
    assert!(failure(service.ctx).contains("doca_pe_connect_ctx"));
    assert_eq!(c!(doca_ctx_stop(service.ctx)), OK);
    service.connect(&engine);
    assert_eq!(c!(doca_pe_connect_ctx(engine.0, service.ctx)), DocaError::NOT_PERMITTED);
    let worker = TestWorker::new(service.raw, &engine, 1, 1);
    let mut task = null_mut();
    assert_eq!(c!(doca_urom_worker_cmd_task_allocate(worker.raw, &mut task)), BAD);
    assert_eq!(c!(doca_ctx_start(worker.ctx)), BAD);
    has(&failure(worker.ctx), &["does not run"]);
    assert_eq!(state(worker.ctx), CtxState::IDLE);
    // Running.
    assert_eq!(c!(doca_ctx_start(service.ctx)), OK);
    assert_eq!(c!(doca_ctx_start(service.ctx)), BAD);
    assert_eq!(c!(doca_urom_service_set_max_comm_msg_size(service.raw, 4096)), BAD);
    assert_eq!(c!(doca_urom_service_set_max_workers(service.raw, 4)), BAD);
    assert_eq!(c!(doca_urom_service_set_dev(service.raw, null_mut())), BAD);
    assert_eq!(c!(doca_urom_service_get_cpuset(service.raw, &mut cpus)), OK);
    assert!(!cpus.is_empty());
    let outside: CpuSet = "1023".parse().unwrap();
    assert_eq!(c!(doca_urom_worker_set_cpuset(worker.raw, outside)), INVALID);
    worker.run(&engine);
    assert_eq!(c!(doca_ctx_start(worker.ctx)), BAD);
    assert_eq!(c!(doca_urom_worker_set_service(worker.raw, service.raw)), BAD);
    assert_eq!(c!(doca_urom_worker_set_id(worker.raw, 1)), BAD);
    assert_eq!(c!(doca_urom_worker_set_plugins(worker.raw, 1)), BAD);
    assert_eq!(c!(doca_urom_worker_set_cpuset(worker.raw, cpus)), BAD);
    assert_eq!(c!(doca_urom_worker_set_gid(worker.raw, 1)), BAD);
    assert_eq!(c!(doca_urom_worker_set_max_inflight_tasks(worker.raw, 1)), BAD);
    assert_eq!(
        c!(doca_urom_worker_set_env(worker.raw, [c"A=1".as_ptr().cast_mut()].as_ptr(), 1)),
        BAD
    );
}

#[test]
fn a_worker_without_what_it_needs_does_not_start() {
    let (_plugins, engine, service) = embedded();
    let mut raw = null_mut();
    assert_eq!(c!(doca_urom_worker_create(&mut raw)), OK);
    let ctx = c!(doca_urom_worker_as_ctx(raw));
    let fails = |code, part: &str| {
        assert_eq!(c!(doca_ctx_start(ctx)), code);
        assert!(failure(ctx).contains(part), "{part} in {}", failure(ctx));
        assert_eq!(state(ctx), CtxState::IDLE);
    };
    fails(DocaError::NOT_CONNECTED, "doca_pe_connect_ctx");
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
    assert_eq!(c!(doca_ctx_start(service.ctx)), OK);
    let mut cpus = CpuSet::empty();
    assert_eq!(c!(doca_urom_service_get_cpuset(service.raw, &mut cpus)), OK);
    assert_eq!(cpus.to_string(), "0-7");
    assert_eq!(c!(doca_ctx_start(worker.ctx)), INVALID);
    has(&failure(worker.ctx), &["7-8", "0-7"]);
}

#[test]
fn a_service_without_plugins_says_so() {
    let empty = tempfile::tempdir().unwrap();
    let engine = Engine::new();
    let service = TestService::start(&At::Embedded(empty.path()), &engine);
    let (mut list, mut count) = (null(), 7);
    let code = c!(doca_urom_service_get_plugins_list(service.raw, &mut list, &mut count));
    assert_eq!((code, count), (DocaError::NOT_FOUND, 7));
}

/// Starts a service that must fail with `code`, where it was told to look, and this reason.
fn fails(address: SocketAddr, expected: DocaError, reason: &str) {
    let (code, text) = failed_start(&At::Address(address));
    assert_eq!(code, expected, "{text}");
    has(&text, &[&address.to_string(), "the test", reason]);
}

#[test]
fn a_daemon_that_closes_instead_of_a_welcome_is_not_said_to_be_missing() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        // A host that is hung up on tries again.
        for host in listener.incoming() {
            let (mut host, mut greeting) = (host.unwrap(), [0; HELLO_LEN + OPENING_LEN]);
            host.read_exact(&mut greeting).unwrap();
            host.write_all(Hello::new(Role::Daemon).as_bytes()).unwrap();
            host.write_all(&[0; OPENING_LEN]).unwrap();
        }
    });
    let reason = "closed the connection before it had listed its plugins";
    fails(address, DocaError::CONNECTION_RESET, reason);
}

#[test]
fn a_listener_that_says_nothing_is_given_up_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    fails(listener.local_addr().unwrap(), DocaError::TIME_OUT, "");
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
    fails(address, DocaError::NOT_CONNECTED, "not a UROM service");
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
    assert_eq!(c!(doca_devinfo_destroy_list(list)), INVALID);
    assert_eq!(c!(doca_dev_open(info, &mut again)), INVALID);
    let service = new_service(&At::Environment);
    assert_eq!(c!(doca_urom_service_set_dev(service.raw, null_mut())), INVALID);
    assert_eq!(c!(doca_urom_service_set_dev(service.raw, dev)), OK);
    assert_eq!(c!(doca_dev_close(dev)), OK);
    assert_eq!(c!(doca_dev_close(dev)), DocaError::IN_USE);
    service.destroy();
    assert_eq!(c!(doca_dev_close(dev)), OK);
    assert_eq!(c!(doca_dev_close(dev)), INVALID);
}
