//! Opening, addresses, packing and closing, through the C interface.

mod common;

use std::ptr::null_mut;

use common::protocol::*;
use common::{NO_LOOKUPS, Worker, context, iface, open};
use urom_abi::list::ListLink;
use urom_abi::plugin::WorkerNotify;
use urom_abi::version::API_VERSION;
use urom_pdk::{DocaError, DocaStatus};

#[test]
fn the_interface_is_complete_and_carries_the_version_word() {
    let iface = iface::<Obedient, Words>();
    assert_eq!(iface.api_version, API_VERSION);
    assert!(iface.open.is_some() && iface.close.is_some() && iface.addr.is_some());
    assert!(iface.worker_cmd.is_some() && iface.progress.is_some() && iface.notif_pack.is_some());
    let mut version = 0;
    // SAFETY: a writable word.
    let code = unsafe { urom_pdk::__private::get_version(|| Words, &mut version) };
    assert_eq!((code, version), (DocaStatus::SUCCESS, 3));
}

macro_rules! refused {
    ($($call:expr;)*) => {$(
        // SAFETY: NULL and a context that is not open are allowed.
        assert_eq!(unsafe { $call }, DocaError::INVALID_VALUE, stringify!($call));
    )*};
}

#[test]
fn null_is_an_invalid_value_everywhere() {
    let iface = iface::<Obedient, Words>();
    let mut unopened = context(iface, NO_LOOKUPS);
    unopened.plugin_ctx = null_mut();
    let unopened = &raw mut *unopened;
    let mut list = ListLink::detached();
    let list: *mut ListLink = &mut list;
    // SAFETY: a writable list head.
    unsafe { urom_abi::list::init(list) };
    let (open, close) = (iface.open.unwrap(), iface.close.unwrap());
    let (addr, worker_cmd) = (iface.addr.unwrap(), iface.worker_cmd.unwrap());
    let (progress, pack) = (iface.progress.unwrap(), iface.notif_pack.unwrap());
    refused! {
        urom_pdk::__private::get_iface::<Obedient, _>(|| Words, null_mut());
        urom_pdk::__private::get_version(|| Words, null_mut());
        open(null_mut());
    }
    let mut len = 0;
    for ctx in [null_mut(), unopened] {
        // SAFETY: NULL and a context that is not open are allowed.
        unsafe { close(ctx) };
        refused! {
            addr(ctx, null_mut(), &mut len);
            worker_cmd(ctx, list);
            progress(ctx, list);
        }
    }
    // SAFETY: a valid context.
    assert_eq!(unsafe { open(unopened) }, DocaStatus::SUCCESS);
    refused! {
        addr(unopened, null_mut(), null_mut());
        worker_cmd(unopened, null_mut());
        progress(unopened, null_mut());
    }
    // SAFETY: an empty list.
    assert_eq!(unsafe { worker_cmd(unopened, list) }, DocaStatus::SUCCESS);
    // SAFETY: it is open.
    unsafe { close(unopened) };
    let mut header = WorkerNotify::default();
    let (mut len, mut buffer) = (32, [0u8; 32]);
    refused! {
        pack(null_mut(), &mut len, buffer.as_mut_ptr().cast());
        pack(&mut header, null_mut(), buffer.as_mut_ptr().cast());
        pack(&mut header, &mut len, null_mut());
    }
}

#[test]
fn a_failed_open_gives_its_code_and_leaves_nothing_behind() {
    let script = script();
    let fails_with = |code| {
        script.open.set(Some(code));
        Worker::open::<Obedient, Words>(NO_LOOKUPS).err().expect("it fails")
    };
    assert_eq!(fails_with(DocaError::DRIVER), DocaError::DRIVER);
    assert_eq!(fails_with(PANIC_IN_OPEN), DocaError::UNEXPECTED);
}

/// The length of the kit's frame before an address.
const FRAME: usize = 16;

#[test]
fn a_handler_without_an_address_reports_a_frame_around_nothing() {
    let mut worker = open();
    assert_eq!(worker.addr(&mut []), (DocaStatus::INVALID_VALUE, FRAME));
    let mut buffer = [0xee; FRAME + 1];
    assert_eq!(worker.addr(&mut buffer), (DocaStatus::SUCCESS, FRAME));
    assert_eq!(buffer[FRAME], 0xee);
}

#[test]
fn both_calls_for_an_address_agree() {
    let script = script();
    *script.address.borrow_mut() = b"endpoint".to_vec();
    let mut worker = open();
    assert_eq!(worker.addr(&mut []), (DocaStatus::INVALID_VALUE, FRAME + 8));
    *script.address.borrow_mut() = b"another one".to_vec();
    let mut buffer = [0xee; FRAME + 7];
    assert_eq!(worker.addr(&mut buffer), (DocaStatus::INVALID_VALUE, FRAME + 8));
    assert_eq!(buffer, [0xee; FRAME + 7]);
    let mut buffer = [0xee; FRAME + 9];
    assert_eq!(worker.addr(&mut buffer), (DocaStatus::SUCCESS, FRAME + 8));
    assert_eq!(&buffer[FRAME..], b"endpoint\xee");
    assert_eq!(script.addressed.get(), 1);
}

#[test]
fn close_drops_pending_futures_then_the_handler() {
    let script = script();
    let mut worker = open();
    for i in 0..3 {
        worker.queue(1, i, &command(WAIT, i));
    }
    worker.queue(1, 3, &command(ECHO, 3));
    worker.flush();
    worker.close();
    assert_eq!(*script.dropped.borrow(), ["future", "future", "future", "handler"]);
    worker.close();
    assert_eq!(script.dropped.borrow().len(), 4, "a second close does nothing");
    // A late wake does nothing.
    for waker in script.wakers.borrow_mut().drain(..) {
        waker.wake();
    }
}

#[test]
fn a_future_that_panics_when_dropped_at_close_spares_the_others() {
    let script = script();
    let mut worker = open();
    worker.queue(1, 1, &command(WAIT, 0));
    worker.queue(1, 2, &command(PANIC_IN_DROP, 0));
    worker.queue(1, 3, &command(WAIT, 0));
    worker.flush();
    worker.close();
    assert_eq!(*script.dropped.borrow(), ["future", "future", "handler"]);
}
