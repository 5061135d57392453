//! A plugin in this process. A command's first byte selects its answer: in `call` or by a list, at
//! once, late, twice, or wrong.

use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;
use std::sync::Arc;

use urom_abi::DocaStatus;
use urom_abi::descriptor::{CommandDesc, NotificationDesc};
use urom_abi::driver::Methods;
use urom_abi::extension::{Called, CancelReason, CommandCall, PluginExtension, Words};
use urom_abi::list::{self, ListLink};
use urom_abi::plugin::{PluginIface, WorkerCtx, WorkerNotify};
use urom_wire::frame::NOTIFICATION_HEADER;

use super::super::{CallWatch, PluginInstance, Supply};
use super::LIMIT;
use crate::plugin_file::PluginFile;

thread_local! {
    static READY: RefCell<Vec<NotificationDesc>> = const { RefCell::new(Vec::new()) };
    static HELD: RefCell<Vec<NotificationDesc>> = const { RefCell::new(Vec::new()) };
    static PACKED: Cell<usize> = const { Cell::new(0) };
}

pub(super) fn open(supply: &Supply, watch: &Arc<CallWatch>) -> PluginInstance {
    let iface = PluginIface {
        api_version: 1,
        open: Some(begin),
        close: Some(close),
        addr: Some(addr),
        worker_cmd: Some(worker_cmd),
        progress: Some(progress),
        notif_pack: Some(notif_pack),
    };
    let methods = Methods::of(&iface).expect("all methods");
    let extension = PluginExtension {
        call: Some(call),
        cancel: Some(cancel),
        host_left: Some(host_left),
        ..PluginExtension::NONE
    };
    let file = PluginFile { version: 1, iface, methods, extension };
    let calls = watch.plugin("fuzzed");
    PluginInstance::begin(1, "fuzzed".to_owned(), None, file, supply, calls).expect("it opens")
}

pub(super) fn release() {
    HELD.with_borrow_mut(|held| READY.with_borrow_mut(|ready| ready.append(held)));
}

/// Resets the failure counter, so that an input is reproducible.
pub(super) fn reset() {
    PACKED.set(0);
}

unsafe extern "C" fn begin(_: *mut WorkerCtx) -> DocaStatus {
    DocaStatus::SUCCESS
}

unsafe extern "C" fn close(_: *mut WorkerCtx) {}

unsafe extern "C" fn addr(_: *mut WorkerCtx, _: *mut c_void, len: *mut usize) -> DocaStatus {
    // SAFETY: the worker's pointer.
    unsafe { len.write(0) };
    DocaStatus::SUCCESS
}

unsafe extern "C" fn worker_cmd(_: *mut WorkerCtx, commands: *mut ListLink) -> DocaStatus {
    loop {
        // SAFETY: the worker's list.
        if unsafe { list::is_empty(commands) } {
            return DocaStatus::SUCCESS;
        }
        // SAFETY: see above; a link is the first field of its descriptor.
        let first = unsafe { (*commands).next };
        // SAFETY: the list is not empty.
        let Some(link) = (unsafe { list::pop_front(commands) }).and_then(NonNull::new) else {
            return DocaStatus::UNEXPECTED;
        };
        // SAFETY: a descriptor of the worker, which is not in a list now.
        let command = unsafe { CommandDesc::from_raw(link.cast()) };
        if command.payload().first() == Some(&5) {
            // Not taken: returns to the front of the list, where the worker looks for it.
            let raw = command.into_raw().cast::<ListLink>();
            debug_assert_eq!(raw, first);
            // SAFETY: the list's head, and a link that is not in a list.
            unsafe { push_front(commands, raw) };
            return DocaStatus::BAD_CONFIG;
        }
        answer(&command);
    }
}

/// The upper bits of a command's first byte select the result; [`answer`] reads the lower bits.
unsafe extern "C" fn call(_: *mut WorkerCtx, call: *mut CommandCall) -> Called {
    // SAFETY: the worker's structure.
    let call = unsafe { &mut *call };
    let command = match call.command_len {
        0 => return Called::DECLINED,
        // SAFETY: the worker's bytes.
        len => unsafe { std::slice::from_raw_parts(call.command, len) },
    };
    // SAFETY: the worker's buffer. The worker sends only the part reported as an answer.
    unsafe { call.answer.write_bytes(0xbb, call.answer_capacity) };
    call.answer_len = command.len().min(call.answer_capacity);
    match command[0] >> 4 {
        1 => Called::ANSWERED,
        2 => {
            call.answer_len = call.answer_capacity;
            Called::ANSWERED
        }
        3 => {
            call.status = DocaStatus(300);
            Called::ANSWERED
        }
        4 => {
            call.status = DocaStatus(u32::MAX);
            call.answer_len = 0;
            Called::ANSWERED
        }
        5 => {
            let command = CommandDesc::new(call.dest_id, 1, call.urom_context, command);
            answer(&command.expect("memory"));
            Called::PENDING
        }
        6 => {
            call.answer_len = usize::MAX;
            Called::ANSWERED
        }
        7 => Called(99),
        _ => Called::DECLINED,
    }
}

unsafe extern "C" fn cancel(_: *mut WorkerCtx, dest_id: u64, token: u64, reason: CancelReason) {
    assert!(reason.0 <= CancelReason::HOST_LEFT.0, "a reason that plugins know");
    let of_it = |note: &mut NotificationDesc| {
        (note.dest_id(), note.header().urom_context) == (dest_id, token)
    };
    let cancelled = HELD.with_borrow_mut(|held| held.extract_if(.., of_it).collect::<Vec<_>>());
    READY.with_borrow_mut(|ready| ready.extend(cancelled));
}

unsafe extern "C" fn host_left(_: *mut WorkerCtx, dest_id: u64) {
    let is_its = |note: &NotificationDesc| note.dest_id() == dest_id;
    assert!(!HELD.with_borrow(|held| held.iter().any(is_its)), "no command of it is pending");
}

/// # Safety
/// `head` is a list, and `link` is not in a list.
unsafe fn push_front(head: *mut ListLink, link: *mut ListLink) {
    let mut rest = ListLink::detached();
    // SAFETY: a fresh head.
    unsafe { list::init(&mut rest) };
    // SAFETY: both are lists.
    unsafe { list::append(&mut rest, head) };
    // SAFETY: the caller's promise.
    unsafe { list::push_back(head, link) };
    // SAFETY: both are lists.
    unsafe { list::append(head, &mut rest) };
}

fn answer(command: &CommandDesc) {
    let payload = command.payload();
    let kind = payload.first().map_or(0, |first| first % 16);
    let len = if kind == 6 { LIMIT } else { payload.len() };
    let status = if kind == 2 { DocaStatus(300) } else { DocaStatus::SUCCESS };
    let note = || {
        let mut note = NotificationDesc::zeroed(len).expect("memory");
        note.address_to(command, status);
        note
    };
    let ready = |note| READY.with_borrow_mut(|ready| ready.push(note));
    match kind {
        1 => HELD.with_borrow_mut(|held| held.push(note())),
        3 => {
            ready(note());
            ready(note());
        }
        4 => {
            // A command that this plugin never received.
            let forged =
                CommandDesc::new(command.dest_id(), 1, !command.header().urom_context, &[]);
            let mut wrong = note();
            wrong.address_to(&forged.expect("memory"), status);
            ready(wrong);
            ready(note());
        }
        _ => ready(note()),
    }
}

unsafe extern "C" fn progress(_: *mut WorkerCtx, notifications: *mut ListLink) -> DocaStatus {
    let ready = READY.take();
    if ready.is_empty() {
        return DocaStatus::EMPTY;
    }
    for note in ready {
        // SAFETY: the worker's list, and a descriptor that is not in a list.
        unsafe { list::push_back(notifications, note.into_raw().cast()) };
    }
    DocaStatus::SUCCESS
}

unsafe extern "C" fn notif_pack(
    note: *mut WorkerNotify,
    packed_len: *mut usize,
    packed: *mut c_void,
) -> DocaStatus {
    let count = PACKED.replace(PACKED.get() + 1);
    if count % 16 == 15 {
        return DocaStatus::UNEXPECTED;
    }
    // SAFETY: the plugin's own notification.
    let len = unsafe { (*note).len } as usize;
    // SAFETY: the worker's pointer to the capacity.
    let capacity = unsafe { *packed_len };
    assert!(NOTIFICATION_HEADER + len <= capacity, "the worker has capacity for a notification");
    // One call in sixteen reports more bytes than it wrote.
    let says = NOTIFICATION_HEADER + len + usize::from(count % 16 == 7);
    // SAFETY: the assertion above checked the capacity.
    unsafe { packed.cast::<u8>().write_bytes(0xaa, NOTIFICATION_HEADER + len) };
    // SAFETY: the worker's pointer.
    unsafe { packed_len.write(says) };
    DocaStatus::SUCCESS
}
