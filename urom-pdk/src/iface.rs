//! The plugin as C sees it: the two functions it exports and the six in its interface.
//!
//! Every function checks its pointers, does what could panic in a [`guard`], and gives a
//! `doca_error_t`. They share an [`Instance`], which `open` leaves behind.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use urom_abi::DocaError;
use urom_abi::descriptor::BorrowedList;
use urom_abi::extension::{self, Called, CommandCall, PluginExtension, WorkerServices};
use urom_abi::list::{self, ListLink};
use urom_abi::log::Level;
use urom_abi::plugin::{PluginIface, WorkerCtx, WorkerNotify};
use urom_abi::protocol::{Answer, Protocol, Serve};
use urom_abi::version::API_VERSION;

use crate::domain::OpenDomains;
use crate::executor::Executor;
use crate::guard::{Calls, catch, guard, install_hook};
use crate::panic::CodeLocation;
use crate::worker_side::{WorkerSide, attach};
use crate::{CancelReason, Context, Error, OpenContext, Result, Side, log};

/// What `urom_plugin_get_iface` does for the protocol `P`: fills all 56 bytes of `iface`.
///
/// Returns `INVALID_VALUE` for NULL.
///
/// # Safety
/// `iface` is NULL or valid for writes of a `struct urom_plugin_iface`.
pub unsafe fn get_iface<T: 'static, P: Protocol + Serve<Side, T>>(
    _: fn() -> P,
    iface: *mut PluginIface,
) -> DocaError {
    let Some(iface) = NonNull::new(iface) else { return DocaError::INVALID_VALUE };
    // SAFETY: the caller says that `iface` is valid for writes.
    unsafe { iface.write(functions::<T, P>().0) };
    DocaError::SUCCESS
}

/// What the plugin offers beyond DOCA's interface: the value of `urom_plugin_extension`.
pub const fn extension<T: 'static, P: Protocol + Serve<Side, T>>(_: fn() -> P) -> PluginExtension {
    functions::<T, P>().1
}

/// All functions of a plugin. One place makes them, because their types hold the closure's.
const fn functions<T: 'static, P: Protocol + Serve<Side, T>>() -> (PluginIface, PluginExtension) {
    let serve = |handler, context, bytes| P::serve(handler, context, bytes);
    // SAFETY: this is `Serve::serve`.
    unsafe { Instance::<T, P, _, _>::functions(serve) }
}

/// What `urom_plugin_get_version` does: stores the protocol's version.
///
/// Returns `INVALID_VALUE` for NULL.
///
/// # Safety
/// `version` is NULL or valid for writes of a `uint64_t`.
pub unsafe fn get_version<P: Protocol>(_: fn() -> P, version: *mut u64) -> DocaError {
    let Some(version) = NonNull::new(version) else { return DocaError::INVALID_VALUE };
    // SAFETY: the caller says that `version` is valid for writes.
    unsafe { version.write(P::VERSION) };
    DocaError::SUCCESS
}

/// One open plugin: what `plugin_ctx` points at between `open` and `close`.
struct Instance<T, P, F, M> {
    calls: Calls,
    executor: Executor<T, P, F, M>,
    /// The plugin's network address in its frame, once it was asked for: both calls of `addr` must
    /// agree on its length.
    address: Option<Vec<u8>>,
    /// Last, because fields are dropped in order: the handler and what is pending may look up
    /// members to the end, those commands without a lock.
    _domains: OpenDomains,
}

impl<T, P, F, M> Instance<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<Answer>>,
    M: Copy + Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    /// The functions of a plugin whose commands become futures by `serve`. They know its type, and
    /// so the future's: all that a command calls on its way is known when they are compiled.
    ///
    /// # Safety
    /// `_serve` is [`Serve::serve`].
    const unsafe fn functions(_serve: M) -> (PluginIface, PluginExtension) {
        let iface = PluginIface {
            api_version: API_VERSION,
            open: Some(Self::open),
            close: Some(Self::close),
            addr: Some(Self::addr),
            worker_cmd: Some(Self::worker_cmd),
            progress: Some(Self::progress),
            notif_pack: Some(notif_pack),
        };
        let extension = PluginExtension {
            size: size_of::<PluginExtension>(),
            attach: Some(attached),
            call: Some(Self::call),
            cancel: Some(Self::cancel),
            host_left: Some(Self::host_left),
            arm: Some(Self::arm),
        };
        (iface, extension)
    }

    /// The instance behind a context, or `INVALID_VALUE` when there is neither or it is not open.
    ///
    /// # Safety
    /// `ctx` is NULL or a context that this plugin's `open` and `close`
    /// alone stored a `plugin_ctx` in, and no other reference to the instance exists.
    unsafe fn of<'a>(ctx: *mut WorkerCtx) -> Result<&'a mut Self, DocaError> {
        if ctx.is_null() {
            return Err(DocaError::INVALID_VALUE);
        }
        // SAFETY: the caller says that it is a context.
        let instance = unsafe { (*ctx).plugin_ctx }.cast::<Self>();
        // SAFETY: what is not NULL is the box that `open` leaked, and the caller says that nobody
        // else refers to it.
        unsafe { instance.as_mut() }.ok_or(DocaError::INVALID_VALUE)
    }

    /// The function of [`functions`](Self::functions) again, which a C function cannot carry along.
    ///
    /// # Safety
    /// There is a value of `M`.
    unsafe fn serve() -> M {
        const { assert!(size_of::<M>() == 0, "what makes futures has captured something") };
        // SAFETY: it has no bytes, is `Copy`, and the caller says that there is one.
        unsafe { std::mem::zeroed() }
    }

    unsafe extern "C" fn open(ctx: *mut WorkerCtx) -> DocaError {
        install_hook();
        guard("open", DocaError::UNEXPECTED, || {
            let Some(ctx) = NonNull::new(ctx) else { return DocaError::INVALID_VALUE };
            // SAFETY: a worker passes a context it allocated. It holds nothing of ours before
            // `open`.
            unsafe { (*ctx.as_ptr()).plugin_ctx = std::ptr::null_mut() };
            log::begin(P::NAME);
            // SAFETY: the context stays where it is until after `close`, and its look-ups are those
            // of the ABI.
            let domains = unsafe { OpenDomains::new(ctx) };
            let cx = OpenContext::of::<P>(WorkerSide::new(ctx, domains.handle()));
            match P::open(&cx) {
                Ok(handler) => {
                    // SAFETY: this function is among those of `functions`, which was given one.
                    let serve = unsafe { Self::serve() };
                    // SAFETY: it is `Serve::serve`, by the contract of `functions`.
                    let executor = unsafe { Executor::new(handler, serve, cx.into_worker()) };
                    let calls = Calls::of_this_thread();
                    let instance = Instance::<T, P, F, M> {
                        calls,
                        executor,
                        address: None,
                        _domains: domains,
                    };
                    let instance = Box::into_raw(Box::new(instance)).cast::<c_void>();
                    // SAFETY: the worker gives a context to `open` that no other call has
                    // meanwhile.
                    unsafe { (*ctx.as_ptr()).plugin_ctx = instance };
                    DocaError::SUCCESS
                }
                Err(error) => failed("open", error),
            }
        })
    }

    unsafe extern "C" fn close(ctx: *mut WorkerCtx) {
        guard("close", (), || {
            if ctx.is_null() {
                return;
            }
            // SAFETY: a worker passes the context it passed to `open`.
            let instance = unsafe { (*ctx).plugin_ctx }.cast::<Self>();
            if instance.is_null() {
                return;
            }
            // SAFETY: the worker gives `close` the context that it gave `open`, and no call
            // overlaps.
            unsafe { (*ctx).plugin_ctx = std::ptr::null_mut() };
            // SAFETY: it is the box that `open` leaked, and calls of a worker never overlap.
            drop(unsafe { Box::from_raw(instance) });
        });
    }

    /// `urom_plugin_iface::addr`: the handler's address in its [frame](urom_abi::address), which
    /// [`Domains::address`](crate::Domains::address) takes off again. A handler without an address
    /// has an empty frame, so that a look-up of it can be read.
    unsafe extern "C" fn addr(
        ctx: *mut WorkerCtx,
        addr: *mut c_void,
        addr_len: *mut usize,
    ) -> DocaError {
        guard("addr", DocaError::UNEXPECTED, || {
            // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
            let instance = match unsafe { Self::of(ctx) } {
                Ok(instance) => instance,
                Err(code) => return code,
            };
            match instance.address() {
                // SAFETY: the contract of the ABI is that of `copy_out`.
                Ok(address) => DocaError::of(unsafe { copy_out(address, addr.cast(), addr_len) }),
                Err(error) => failed("addr", error),
            }
        })
    }

    /// `urom_plugin_iface::worker_cmd`. Takes every command off the list: what is wrong with one is
    /// told in its notification, not in the code.
    unsafe extern "C" fn worker_cmd(ctx: *mut WorkerCtx, cmd_list: *mut ListLink) -> DocaError {
        // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
        let instance = unsafe { Self::of(ctx) };
        let (Ok(Self { calls, executor, .. }), Some(list)) = (instance, NonNull::new(cmd_list))
        else {
            return DocaError::INVALID_VALUE;
        };
        calls.guard("worker_cmd", DocaError::UNEXPECTED, || {
            // SAFETY: a worker passes the head of a well-formed list of command descriptors, which
            // is the plugin's for the call.
            let mut commands = unsafe { BorrowedList::new(list) };
            executor.accept(&mut commands);
            DocaError::SUCCESS
        })
    }

    unsafe extern "C" fn progress(ctx: *mut WorkerCtx, notif_list: *mut ListLink) -> DocaError {
        // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
        let Self { calls, executor, .. } = match unsafe { Self::of(ctx) } {
            Ok(instance) if !notif_list.is_null() => instance,
            _ => return DocaError::INVALID_VALUE,
        };
        calls.guard("progress", DocaError::UNEXPECTED, || {
            let finished = executor.progress();
            if finished.is_empty() {
                return DocaError::EMPTY;
            }
            // SAFETY: a worker passes the head of a well-formed list, which is the plugin's for the
            // call; ours is another.
            unsafe { list::append(notif_list, finished.as_raw()) };
            DocaError::SUCCESS
        })
    }

    unsafe extern "C" fn call(ctx: *mut WorkerCtx, call: *mut CommandCall) -> Called {
        // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
        let instance = unsafe { Self::of(ctx) };
        let (Ok(Self { calls, executor, .. }), Some(call)) = (instance, NonNull::new(call)) else {
            return Called::DECLINED;
        };
        // SAFETY: a worker passes a structure of its own, which begins with its size.
        if unsafe { call.cast::<usize>().read() } < size_of::<CommandCall>() {
            return Called::DECLINED;
        }
        // SAFETY: it is as long as this release's, and nobody else touches it during the call.
        let call = unsafe { &mut *call.as_ptr() };
        calls.guard("call", Called::PENDING, || {
            // SAFETY: the worker's bytes and place are there for the call.
            unsafe { executor.call(call) }
        })
    }

    unsafe extern "C" fn cancel(
        ctx: *mut WorkerCtx,
        dest_id: u64,
        urom_context: u64,
        reason: extension::CancelReason,
    ) {
        // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
        let Ok(Self { calls, executor, .. }) = (unsafe { Self::of(ctx) }) else { return };
        let cancel = || executor.cancel(dest_id, urom_context, CancelReason::of(reason));
        calls.guard("cancel", (), cancel);
    }

    unsafe extern "C" fn host_left(ctx: *mut WorkerCtx, dest_id: u64) {
        // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
        let Ok(Self { calls, executor, .. }) = (unsafe { Self::of(ctx) }) else { return };
        calls.guard("host_left", (), || executor.host_left(dest_id));
    }

    unsafe extern "C" fn arm(ctx: *mut WorkerCtx, fds: *mut c_int, room: usize) -> usize {
        // SAFETY: the contract of the ABI is that of `of`, and calls never overlap.
        let Ok(Self { calls, executor, .. }) = (unsafe { Self::of(ctx) }) else { return 0 };
        let (fds, room) =
            if fds.is_null() { (NonNull::dangling().as_ptr(), 0) } else { (fds, room) };
        // SAFETY: the worker's room for so many descriptors.
        let fds = unsafe { std::slice::from_raw_parts_mut(fds, room) };
        calls.guard("arm", 0, || executor.arm(fds).unwrap_or(extension::READY))
    }

    fn address(&mut self) -> Result<&[u8]> {
        let address = match self.address.take() {
            Some(address) => address,
            None => {
                let address = self.executor.address()?;
                urom_abi::address::around(&address).ok_or_else(|| {
                    let text = format!(
                        "an address of {} bytes is longer than a worker takes",
                        address.len()
                    );
                    Error::new(DocaError::TOO_BIG, text)
                })?
            }
        };
        Ok(self.address.insert(address))
    }
}

unsafe extern "C" fn attached(ctx: *mut WorkerCtx, services: *const WorkerServices) {
    guard("attach", (), || {
        let Some(ctx) = NonNull::new(ctx) else { return };
        // SAFETY: the contract of the ABI is that of `attach`.
        unsafe { attach(ctx, services) };
    });
}

/// `urom_plugin_iface::notif_pack`. Nothing in it can panic.
unsafe extern "C" fn notif_pack(
    notif: *mut WorkerNotify,
    packed_len: *mut usize,
    packed: *mut c_void,
) -> DocaError {
    let Some(notif) = NonNull::new(notif) else { return DocaError::INVALID_VALUE };
    // SAFETY: a worker passes the header of a notification this plugin made.
    let len = unsafe { (*notif.as_ptr()).len } as usize;
    let Some(whole) = size_of::<WorkerNotify>().checked_add(len) else {
        return DocaError::INVALID_VALUE;
    };
    // SAFETY: this plugin made the notification in one block: a header that was written whole, its
    // reserved field too, and right behind it `len` bytes, which were zeroes before anything else
    // was written to them.
    let whole = unsafe { std::slice::from_raw_parts(notif.as_ptr().cast::<u8>(), whole) };
    // SAFETY: the contract of the ABI is that of `copy_out`.
    DocaError::of(unsafe { copy_out(whole, packed.cast(), packed_len) })
}

/// Copies `bytes` to `to`. `len` holds the room there on entry and the bytes needed on return.
///
/// # Errors
/// `INVALID_VALUE`, and nothing copied, when there is too little room, `len` is NULL, or `to` is
/// NULL though there is something to copy.
///
/// # Safety
/// `len` is NULL or valid for reads and writes. `to` is NULL or valid for writes of `*len` bytes,
/// apart from `bytes`.
unsafe fn copy_out(bytes: &[u8], to: *mut u8, len: *mut usize) -> Result<(), DocaError> {
    let len = NonNull::new(len).ok_or(DocaError::INVALID_VALUE)?;
    // SAFETY: the caller says that `len` is readable.
    let room = unsafe { len.read() };
    // SAFETY: the caller says that `len` is writable.
    unsafe { len.write(bytes.len()) };
    if bytes.is_empty() {
        return Ok(());
    }
    if bytes.len() > room || to.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: there is room for all of it, and the caller says that it lies elsewhere.
    unsafe { urom_abi::copy(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

fn failed(method: &str, error: Error) -> DocaError {
    let (status, at) = (error.status(), error.at().map(CodeLocation::of));
    // Displaying and dropping an error runs the handler's code.
    catch("a handler's error", || {
        log::failure(Level::Error, at, format_args!("{method} failed: {}", log::shown(&error)));
        drop(error);
    });
    status
}
