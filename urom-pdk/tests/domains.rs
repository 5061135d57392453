//! Domain look-ups through a worker's C table, from commands, handles and other threads.

mod common;

use std::ffi::{c_int, c_void};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use common::Worker;
use common::protocol::*;
use urom_abi::plugin::{DomainLookups, WorkerCtx};
use urom_pdk::{DocaError, DocaStatus, DomainHandle, Error, Result, Segment};

const PEER: u64 = 7;
const FOREIGN: u64 = 8;
const SILENT: u64 = 9;
const BROKEN: u64 = 10;
const WRONG: u64 = 11;

const ADDRESS: &[u8] = b"where the peer is";
static KEY: [u8; 11] = *b"\x01key\0bytes\xff";

/// The framed address of a plugin with this kit.
static REPORTED: OnceLock<Vec<u8>> = OnceLock::new();

fn report() -> &'static [u8] {
    REPORTED.get_or_init(|| {
        *script().address.borrow_mut() = ADDRESS.to_vec();
        let mut worker = common::open();
        let (_, len) = worker.addr(&mut []);
        let mut address = vec![0; len];
        assert_eq!(worker.addr(&mut address), (DocaStatus::SUCCESS, len));
        address
    })
}

unsafe extern "C" fn addr(ctx: *mut WorkerCtx, member: u64, addr: *mut *mut c_void) -> DocaStatus {
    // SAFETY: the context is valid: an open plugin passes its own.
    assert!(unsafe { (*ctx).iface }.open.is_some());
    static RAW: [u8; 1] = [0x11];
    let found = match member {
        PEER => report().as_ptr(),
        FOREIGN => RAW.as_ptr(),
        SILENT => null_mut(),
        BROKEN => return DocaStatus::DRIVER,
        _ => return DocaStatus::NOT_FOUND,
    };
    // SAFETY: a plugin passes a writable pointer.
    unsafe { addr.write(found.cast_mut().cast()) };
    DocaStatus::SUCCESS
}

unsafe extern "C" fn seg(_: *mut WorkerCtx, member: u64, va: u64, seg: *mut c_int) -> DocaStatus {
    let index = match (member, va) {
        (PEER, 0x1000..0x2000) => 0,
        (PEER, 0x8000..0x9000) => 1,
        (WRONG, _) => -2,
        _ => return DocaStatus::NOT_FOUND,
    };
    // SAFETY: a plugin passes a writable pointer.
    unsafe { seg.write(index) };
    DocaStatus::SUCCESS
}

unsafe extern "C" fn packed(
    _: *mut WorkerCtx,
    member: u64,
    seg: c_int,
    len: *mut usize,
    out: *mut *mut c_void,
) -> DocaStatus {
    let (start, count) = match (member, seg) {
        (PEER, 0) => (KEY.as_ptr(), KEY.len()),
        (PEER, 1) => (null_mut::<u8>().cast_const(), 0),
        (SILENT, 0) => (null_mut::<u8>().cast_const(), 5),
        (WRONG, 0) => (KEY.as_ptr(), usize::MAX),
        (BROKEN, _) => return DocaStatus::DRIVER,
        _ => return DocaStatus::NOT_FOUND,
    };
    // SAFETY: a plugin passes a writable pointer.
    unsafe { len.write(count) };
    // SAFETY: as above.
    unsafe { out.write(start.cast_mut().cast()) };
    DocaStatus::SUCCESS
}

const LOOKUPS: DomainLookups = DomainLookups {
    addr_lookup: Some(addr),
    seg_lookup: Some(seg),
    memh_lookup: Some(packed),
    mkey_lookup: Some(packed),
};

fn open(lookups: DomainLookups) -> (Worker, DomainHandle) {
    report();
    let worker = Worker::open::<Obedient, Words>(lookups).expect("it opens");
    let handle = script().domains.borrow().clone().expect("open got it");
    (worker, handle)
}

fn in_command(worker: &mut Worker, act: impl Fn(&urom_pdk::Context) -> Result<()> + 'static) {
    *script().act.borrow_mut() = Some(Box::new(move |cx, _| act(cx).map(|()| 0)));
    worker.send(1, 1, &command(ACT, 0));
    assert_eq!(worker.progress().remove(0).header().status, DocaStatus::SUCCESS);
}

fn fails<T: std::fmt::Debug>(result: Result<T>, code: DocaError, part: &str) {
    let error: Error = result.unwrap_err();
    assert_eq!(error.code(), code, "{error}");
    assert!(error.to_string().contains(part), "{error}");
}

#[test]
fn a_command_borrows_the_workers_look_ups() {
    let (mut worker, _) = open(LOOKUPS);
    in_command(&mut worker, |cx| {
        let domains = cx.domains();
        assert_eq!(domains.address(PEER)?, ADDRESS);
        let first = domains.segment(PEER, 0x1fff)?;
        let second = domains.segment(PEER, 0x8000)?;
        assert_eq!((first, second.index()), (Segment::FIRST, 1));
        for bytes in [domains.key(PEER, first)?, domains.memory_handle(PEER, first)?] {
            assert_eq!((bytes, bytes.as_ptr()), (&KEY[..], KEY.as_ptr()));
        }
        assert!(domains.key(PEER, second)?.is_empty());
        assert!(domains.memory_handle(PEER, second)?.is_empty());
        // Also on a thread of the command.
        let address = std::thread::scope(|scope| scope.spawn(|| domains.address(PEER)).join());
        assert_eq!(address.expect("no panic")?, ADDRESS);
        Ok(())
    });
}

#[test]
fn a_handle_copies_on_any_thread() {
    let (_worker, handle) = open(LOOKUPS);
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let handle = handle.clone();
            std::thread::spawn(move || {
                assert_eq!(handle.address(PEER).unwrap(), ADDRESS);
                assert_eq!(handle.segment(PEER, 0x1000).unwrap(), Segment::FIRST);
                assert_eq!(handle.key(PEER, Segment::FIRST).unwrap(), KEY);
                assert_eq!(handle.memory_handle(PEER, Segment::FIRST).unwrap(), KEY);
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("every look-up works");
    }
}

#[test]
fn every_failure_has_its_code_and_names_the_look_up() {
    let (_worker, handle) = open(LOOKUPS);
    let address = |member| handle.address(member).map(drop);
    let segment = |member, va| handle.segment(member, va).map(drop);
    let key = |member, index| handle.key(member, Segment::new(index)).map(drop);
    let memory = |member, index| handle.memory_handle(member, Segment::new(index)).map(drop);
    let (not_found, unexpected) = (DocaError::NOT_FOUND, DocaError::UNEXPECTED);
    for (result, code, text) in [
        (address(4), not_found, "no address of worker 4 in a running domain of this worker: "),
        (segment(PEER, 0x2000), not_found, "no buffer with address 0x2000 of worker 7"),
        (key(PEER, 2), not_found, "no key of buffer 2 of worker 7"),
        (memory(4, 0), not_found, "no memory handle of buffer 0 of worker 4"),
        (key(PEER, u32::MAX), not_found, "buffer 4294967295"),
        (address(FOREIGN), DocaError::INVALID_VALUE, "worker 8 was not made by this kit"),
        (address(BROKEN), DocaError::DRIVER, "the address of worker 10"),
        (key(BROKEN, 0), DocaError::DRIVER, "the key of buffer 0 of worker 10"),
        // Inconsistent answers.
        (address(SILENT), unexpected, "the address of worker 9"),
        (segment(WRONG, 0), unexpected, "worker 11"),
        (key(SILENT, 0), unexpected, "key"),
        (key(WRONG, 0), unexpected, "key"),
        (memory(SILENT, 0), unexpected, "memory handle"),
        (memory(WRONG, 0), unexpected, "memory handle"),
    ] {
        fails(result, code, text);
    }
}

#[test]
fn a_check_for_an_absent_member_is_no_error() {
    let (mut worker, handle) = open(LOOKUPS);
    assert!(handle.contains(PEER).unwrap());
    assert!(!handle.contains(4).unwrap());
    in_command(&mut worker, |cx| {
        let domains = cx.domains();
        // A member with another kit also counts.
        assert_eq!(
            (domains.contains(PEER)?, domains.contains(FOREIGN)?, domains.contains(4)?),
            (true, true, false)
        );
        fails(domains.contains(BROKEN), DocaError::DRIVER, "the address of worker 10");
        Ok(())
    });
    drop(worker);
    fails(handle.contains(PEER), DocaError::BAD_STATE, "the plugin was closed");
    fails(handle.clone().segment(PEER, 0x1000), DocaError::BAD_STATE, "closed");
}

#[test]
fn a_worker_without_look_ups_is_an_error_and_no_crash() {
    let (mut worker, handle) = open(common::NO_LOOKUPS);
    let without = DocaError::NOT_SUPPORTED;
    fails(handle.address(PEER), without, "addresses");
    fails(handle.segment(PEER, 0), without, "segments");
    fails(handle.memory_handle(PEER, Segment::FIRST), without, "memory handles");
    fails(handle.key(PEER, Segment::FIRST), without, "keys");
    in_command(&mut worker, move |cx| {
        fails(cx.domains().address(PEER), without, "addresses");
        Ok(())
    });
}

#[test]
fn a_command_that_is_pending_when_its_plugin_closes_may_look_up_members_to_its_end() {
    let (mut worker, _) = open(LOOKUPS);
    let script = script();
    *script.act.borrow_mut() = Some(Box::new(|_, _| Ok(0)));
    *script.last.borrow_mut() = Some(Box::new(|cx, _| {
        assert_eq!(cx.domains().address(PEER)?, ADDRESS);
        crate::script().dropped.borrow_mut().push("look-up");
        Ok(0)
    }));
    worker.send(1, 1, &command(ACT_AND_WAIT, 0));
    assert!(worker.progress().is_empty());
    worker.close();
    assert!(script.dropped.borrow().contains(&"look-up"));
}

#[test]
fn a_handle_from_an_open_that_failed_only_fails() {
    let script = script();
    script.open.set(Some(DocaError::DRIVER));
    assert!(Worker::open::<Obedient, Words>(LOOKUPS).is_err());
    let handle = script.domains.borrow().clone().expect("open got it");
    fails(handle.key(PEER, Segment::FIRST), DocaError::BAD_STATE, "closed");
}

static UNDER_WAY: AtomicUsize = AtomicUsize::new(0);
static LOOKED_UP: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" fn slow_seg(_: *mut WorkerCtx, _: u64, _: u64, seg: *mut c_int) -> DocaStatus {
    UNDER_WAY.fetch_add(1, Ordering::SeqCst);
    LOOKED_UP.fetch_add(1, Ordering::SeqCst);
    (0..10).for_each(|_| std::thread::yield_now());
    // SAFETY: a plugin passes a writable pointer.
    unsafe { seg.write(0) };
    UNDER_WAY.fetch_sub(1, Ordering::SeqCst);
    DocaStatus::SUCCESS
}

#[test]
fn closing_waits_for_look_ups_of_other_threads_and_ends_them() {
    let (mut worker, handle) = open(DomainLookups { seg_lookup: Some(slow_seg), ..LOOKUPS });
    let thread = std::thread::spawn(move || while handle.segment(PEER, 0).is_ok() {});
    while LOOKED_UP.load(Ordering::SeqCst) < 3 {
        std::thread::yield_now();
    }
    worker.close();
    assert_eq!(UNDER_WAY.load(Ordering::SeqCst), 0);
    let looked_up = LOOKED_UP.load(Ordering::SeqCst);
    thread.join().expect("the thread ends, because look-ups fail");
    assert_eq!(LOOKED_UP.load(Ordering::SeqCst), looked_up);
}
