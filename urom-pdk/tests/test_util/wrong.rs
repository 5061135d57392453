//! A faulty plugin: hand-written C methods with one mistake.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::c_void;
use std::ptr::NonNull;

use urom_abi::descriptor::{CommandDesc, NotificationDesc};
use urom_abi::list::{self, ListLink};
use urom_abi::plugin::{PluginIface, WorkerCmdDesc, WorkerCtx, WorkerNotify};
use urom_abi::version::API_VERSION;
use urom_pdk::DocaStatus;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wrong {
    Nothing,
    AnswersThrice,
    NeverAnswers,
    ForgetsCommands,
    ForgetsNotifications,
    MakesUpAToken,
    NamesAnotherPlugin,
    AnswersAnotherConnection,
    FailsToTakeCommands,
    FailsToProgress,
    PacksBehindTheBuffer,
    PacksIntoASmallBuffer,
    PacksAnotherHeader,
    PacksTooMuch,
    FailsToPack,
    GrowsItsAddress,
    WritesBehindItsAddress,
    RefusesToOpen,
    HasNoAddress,
}

thread_local! {
    /// Leaked values, kept until the thread ends, so that leak sanitizers are quiet.
    static FORGOTTEN: RefCell<Vec<Box<dyn Any>>> = const { RefCell::new(Vec::new()) };
    pub(crate) static WRONG: Cell<Wrong> = const { Cell::new(Wrong::Nothing) };
}

fn is(wrong: Wrong) -> bool {
    WRONG.get() == wrong
}

fn forget(what: impl Any) {
    FORGOTTEN.with_borrow_mut(|all| all.push(Box::new(what)));
}

pub(crate) const IFACE: PluginIface = PluginIface {
    api_version: API_VERSION,
    open: Some(open),
    close: Some(close),
    addr: Some(addr),
    worker_cmd: Some(worker_cmd),
    progress: Some(progress),
    notif_pack: Some(notif_pack),
};

type Waiting = Vec<NotificationDesc>;

unsafe extern "C" fn open(ctx: *mut WorkerCtx) -> DocaStatus {
    if is(Wrong::RefusesToOpen) {
        return DocaStatus::DRIVER;
    }
    let waiting = Box::into_raw(Box::<Waiting>::default());
    // SAFETY: a worker passes a context that it allocated.
    unsafe { (*ctx).plugin_ctx = waiting.cast() };
    DocaStatus::SUCCESS
}

unsafe extern "C" fn close(ctx: *mut WorkerCtx) {
    // SAFETY: the context was opened.
    let waiting = unsafe { (*ctx).plugin_ctx }.cast::<Waiting>();
    // SAFETY: from the box in `open`; calls never overlap.
    let waiting = unsafe { Box::from_raw(waiting) };
    if is(Wrong::ForgetsNotifications) {
        forget(waiting);
    }
}

unsafe extern "C" fn addr(_: *mut WorkerCtx, to: *mut c_void, len: *mut usize) -> DocaStatus {
    // SAFETY: a worker passes a length.
    let len = unsafe { &mut *len };
    let asked = *len;
    *len = 4;
    if to.is_null() {
        return if is(Wrong::HasNoAddress) {
            DocaStatus::NOT_SUPPORTED
        } else {
            DocaStatus::INVALID_VALUE
        };
    }
    let count = if is(Wrong::WritesBehindItsAddress) { asked + 1 } else { asked };
    // SAFETY: the kit's buffer is longer than it claims, to detect this.
    unsafe { to.cast::<u8>().write_bytes(b'a', count) };
    *len = if is(Wrong::GrowsItsAddress) { 5 } else { 4 };
    DocaStatus::SUCCESS
}

unsafe extern "C" fn worker_cmd(ctx: *mut WorkerCtx, commands: *mut ListLink) -> DocaStatus {
    // SAFETY: the context is open.
    let waiting = unsafe { (*ctx).plugin_ctx }.cast::<Waiting>();
    // SAFETY: from the box in `open`; calls never overlap.
    let waiting = unsafe { &mut *waiting };
    if is(Wrong::FailsToTakeCommands) {
        return DocaStatus::FULL;
    }
    // SAFETY: a worker passes the head of a well-formed list.
    while let Some(link) = unsafe { list::pop_front(commands) } {
        let block = NonNull::new(link.cast::<WorkerCmdDesc>()).expect("a descriptor");
        // SAFETY: a descriptor that was taken off the list is owned.
        let mut command = unsafe { CommandDesc::from_raw(block) };
        let times = match WRONG.get() {
            Wrong::NeverAnswers => 0,
            Wrong::AnswersThrice => 3,
            _ => 1,
        };
        let header = command.header();
        let dest_id = command.dest_id();
        let (mut plugin_id, mut token, mut connection) =
            (header.plugin_id, header.urom_context, dest_id);
        match WRONG.get() {
            Wrong::MakesUpAToken => token = 0xabc,
            Wrong::NamesAnotherPlugin => plugin_id *= 2,
            Wrong::AnswersAnotherConnection => connection += 1,
            _ => {}
        }
        for _ in 0..times {
            let to = CommandDesc::new(connection, plugin_id, token, &[]).expect("memory");
            let mut notification =
                NotificationDesc::zeroed(command.payload().len()).expect("memory");
            notification.payload_mut().copy_from_slice(command.payload());
            notification.address_to(&to, DocaStatus::SUCCESS);
            waiting.push(notification);
        }
        command.payload_mut().fill(0xdd);
        if is(Wrong::ForgetsCommands) {
            forget(command);
        }
    }
    DocaStatus::SUCCESS
}

unsafe extern "C" fn progress(ctx: *mut WorkerCtx, notifications: *mut ListLink) -> DocaStatus {
    // SAFETY: the context is open.
    let waiting = unsafe { (*ctx).plugin_ctx }.cast::<Waiting>();
    // SAFETY: from the box in `open`; calls never overlap.
    let waiting = unsafe { &mut *waiting };
    if is(Wrong::FailsToProgress) {
        return DocaStatus::IO_FAILED;
    }
    if is(Wrong::ForgetsNotifications) || waiting.is_empty() {
        return DocaStatus::EMPTY;
    }
    for notification in waiting.drain(..) {
        let link = notification.into_raw().cast::<ListLink>();
        // SAFETY: a worker passes a well-formed list; this plugin owns the link, outside of lists.
        unsafe { list::push_back(notifications, link) };
    }
    DocaStatus::SUCCESS
}

unsafe extern "C" fn notif_pack(
    notif: *mut WorkerNotify,
    len: *mut usize,
    to: *mut c_void,
) -> DocaStatus {
    // SAFETY: a worker passes a length.
    let capacity = unsafe { &mut *len };
    // SAFETY: a worker passes a notification of this plugin.
    let whole = 32 + unsafe { (*notif).len } as usize;
    let fits = whole <= *capacity;
    if is(Wrong::FailsToPack) {
        return DocaStatus::IO_FAILED;
    }
    if !fits && !is(Wrong::PacksBehindTheBuffer) && !is(Wrong::PacksIntoASmallBuffer) {
        return DocaStatus::INVALID_VALUE;
    }
    let count = if is(Wrong::PacksBehindTheBuffer) { whole } else { whole.min(*capacity) };
    // SAFETY: the kit's buffer is longer than claimed; the block is as long as its header claims.
    unsafe { to.cast::<u8>().copy_from_nonoverlapping(notif.cast(), count) };
    if is(Wrong::PacksAnotherHeader) {
        // SAFETY: the buffer has a header's length.
        unsafe { to.cast::<u8>().write(0x7f) };
    }
    *capacity = if is(Wrong::PacksTooMuch) { whole + 1 } else { whole };
    DocaStatus::SUCCESS
}
