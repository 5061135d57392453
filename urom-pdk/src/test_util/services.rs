//! The simulated worker's services beyond DOCA's interface, and their data.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::ffi::c_char;
use std::rc::Rc;
use std::time::Instant;

use urom_abi::extension::{LONGEST_FAILURE, Words, WorkerServices};
use urom_abi::plugin::WorkerCtx;
use urom_abi::{DEFAULT_MAX_MESSAGE, DocaError, DocaStatus};
use urom_memory::engine::{Shares, Site, functions};

use super::memory::PlayedMemories;
use crate::guard::guard;
use crate::time;
use urom_os::clock::monotonic;

const WORKER_ID: u64 = 1;

pub(super) struct Services {
    pub(super) table: WorkerServices,
    pub(super) limit: Cell<usize>,
    pub(super) deadlines: RefCell<HashMap<u64, Instant>>,
    pub(super) failures: RefCell<HashMap<u64, String>>,
    pub(super) memories: PlayedMemories,
}

impl Services {
    pub(super) fn new() -> Rc<Services> {
        Rc::new(Services {
            table: functions::<Services>(WorkerServices {
                worker_id: WORKER_ID,
                message_limit: DEFAULT_MAX_MESSAGE,
                connection_limit: Some(connection_limit),
                deadline: Some(deadline),
                explain: Some(explain),
                ..WorkerServices::NONE
            }),
            limit: Cell::new(DEFAULT_MAX_MESSAGE),
            deadlines: RefCell::default(),
            failures: RefCell::default(),
            memories: PlayedMemories::default(),
        })
    }
}

#[repr(C)]
pub(super) struct ServedCtx {
    pub(super) ctx: WorkerCtx,
    pub(super) services: Rc<Services>,
}

/// # Safety
/// `ctx` is the first member of a [`ServedCtx`] that outlives the result, on its thread.
pub(super) unsafe fn services<'a>(ctx: *mut WorkerCtx) -> &'a Services {
    // SAFETY: the caller guarantees a `ServedCtx`. Only this member is borrowed.
    let services = unsafe { &raw const (*ctx.cast::<ServedCtx>()).services };
    // SAFETY: as above; this member is not written until the context is freed.
    unsafe { &*services }
}

impl Site for Services {
    unsafe fn serve(
        ctx: *mut WorkerCtx,
        name: &'static str,
        call: impl FnOnce(&Shares) -> Result<(), DocaError>,
    ) -> DocaStatus {
        guard(name, DocaStatus::UNEXPECTED, || {
            // SAFETY: the context of `attach`, on its thread.
            let memories = unsafe { &services(ctx).memories };
            call(&memories.shares).into()
        })
    }
}

unsafe extern "C" fn connection_limit(ctx: *mut WorkerCtx, _: u64) -> usize {
    guard("connection_limit", 0, || {
        // SAFETY: the context of `attach`, on its thread.
        unsafe { services(ctx) }.limit.get()
    })
}

unsafe extern "C" fn deadline(ctx: *mut WorkerCtx, _: u64, token: u64) -> u64 {
    guard("deadline", 0, || {
        // SAFETY: the context of `attach`, on its thread.
        let services = unsafe { services(ctx) };
        let Some(at) = services.deadlines.borrow().get(&token).copied() else { return 0 };
        let now = time::now();
        let ahead = at.saturating_duration_since(now).as_nanos() as u64;
        let behind = now.saturating_duration_since(at).as_nanos() as u64;
        (monotonic() + ahead).saturating_sub(behind).max(1)
    })
}

unsafe extern "C" fn explain(
    ctx: *mut WorkerCtx,
    _: u64,
    token: u64,
    text: *const c_char,
    len: usize,
) {
    guard("explain", (), || {
        let len = len.min(LONGEST_FAILURE);
        let text = match len {
            0 => &[][..],
            // SAFETY: the plugin's text has at least this many bytes.
            _ => unsafe { std::slice::from_raw_parts(text.cast::<u8>(), len) },
        };
        let text = String::from_utf8_lossy(text).into_owned();
        // SAFETY: the context of `attach`, on its thread.
        unsafe { services(ctx) }.failures.borrow_mut().insert(token, text);
    });
}
