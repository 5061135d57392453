//! The plugin's C functions: the two exports and the six of its interface. Every function checks
//! its pointers, runs code that could panic in a [`guard`], and returns a `doca_error_t`.

use std::ffi::{c_int, c_void};
use std::ptr::NonNull;

use urom_abi::describe::Protocol as Description;
use urom_abi::descriptor::BorrowedList;
use urom_abi::extension::{self, Called, CommandCall, PluginExtension, TracedCall, WorkerServices};
use urom_abi::list::{self, ListLink};
use urom_abi::log::Level;
use urom_abi::plugin::{PluginIface, WorkerCtx, WorkerNotify};
use urom_abi::protocol::{Answer, Protocol, Serve};
use urom_abi::trace::TraceContext;
use urom_abi::version::API_VERSION;
use urom_abi::{DocaError, DocaStatus};

use crate::domain::OpenDomains;
use crate::executor::Executor;
use crate::guard::{GuardedCalls, catch, guard, install_hook};
use crate::panic::CodeLocation;
use crate::worker_side::{WorkerSide, attach};
use crate::{CancelReason, Context, Error, OpenContext, Result, Side, bail, log};

/// Implements `urom_plugin_get_iface`: fills all 56 bytes. Returns `INVALID_VALUE` for NULL.
///
/// # Safety
/// `iface` is NULL or valid for writes of a `struct urom_plugin_iface`.
pub unsafe fn get_iface<T: 'static, P: Protocol + Serve<Side, T>>(
    _: fn() -> P,
    iface: *mut PluginIface,
) -> DocaStatus {
    let Some(iface) = NonNull::new(iface) else { return DocaStatus::INVALID_VALUE };
    // SAFETY: the caller guarantees that `iface` is valid for writes.
    unsafe { iface.write(functions::<T, P>().0) };
    DocaStatus::SUCCESS
}

/// Returns the value of `urom_plugin_extension`: the functions beyond DOCA's interface.
pub const fn extension<T: 'static, P: Protocol + Serve<Side, T>>(_: fn() -> P) -> PluginExtension {
    functions::<T, P>().1
}

/// A type with `#[urom_plugin]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a plugin",
    note = "`#[urom_plugin]` stands above the `impl` of a plugin's handlers"
)]
pub trait Exported: 'static {
    /// Its functions and its protocol.
    const PARTS: PluginParts;
}

/// The parts of a plugin that a worker gets from its file.
#[derive(Debug, Clone, Copy)]
pub struct PluginParts {
    /// The description of its protocol.
    pub protocol: &'static Description,
    /// Its interface, and its functions beyond it.
    pub functions: (PluginIface, PluginExtension),
}

/// Returns the parts of a plugin.
pub const fn parts<T: 'static, P: Protocol + Serve<Side, T>>(_: fn() -> P) -> PluginParts {
    PluginParts { protocol: P::DESCRIPTION, functions: functions::<T, P>() }
}

/// Makes all functions of a plugin: their types contain the closure's type.
const fn functions<T: 'static, P: Protocol + Serve<Side, T>>() -> (PluginIface, PluginExtension) {
    let serve = |handler, context, bytes| P::serve(handler, context, bytes);
    // SAFETY: this is `Serve::serve`.
    unsafe { HandlerInstance::<T, P, _, _>::functions(serve) }
}

/// Implements `urom_plugin_get_version`. Returns `INVALID_VALUE` for NULL.
///
/// # Safety
/// `version` is NULL or valid for writes of a `uint64_t`.
pub unsafe fn get_version<P: Protocol>(_: fn() -> P, version: *mut u64) -> DocaStatus {
    let Some(version) = NonNull::new(version) else { return DocaStatus::INVALID_VALUE };
    // SAFETY: the caller guarantees that `version` is valid for writes.
    unsafe { version.write(P::VERSION) };
    DocaStatus::SUCCESS
}

/// One open plugin: `plugin_ctx` points to it between `open` and `close`.
struct HandlerInstance<T, P, F, M> {
    calls: GuardedCalls,
    executor: Executor<T, P, F, M>,
    /// Kept after the first `addr`: both calls must return one length.
    address: Option<Vec<u8>>,
    /// Dropped last: pending commands use look-ups, without a lock, until they are dropped.
    _domains: OpenDomains,
}

impl<T, P, F, M> HandlerInstance<T, P, F, M>
where
    T: 'static,
    P: Protocol + Serve<Side, T>,
    F: Future<Output = Result<Answer>>,
    M: Copy + Fn(&'static T, &'static Context, &'static [u8]) -> F,
{
    /// # Safety
    /// `_serve` is [`Serve::serve`]. The functions are compiled for its type: calls are direct.
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

    /// Returns the instance, or `INVALID_VALUE` for NULL or a plugin that is not open.
    /// # Safety
    /// `ctx` is NULL or a context with `plugin_ctx` from this plugin, and it is not borrowed.
    unsafe fn of<'a>(ctx: *mut WorkerCtx) -> Result<&'a mut Self, DocaError> {
        if ctx.is_null() {
            return Err(DocaError::INVALID_VALUE);
        }
        // SAFETY: the caller guarantees that it is a context.
        let instance = unsafe { (*ctx).plugin_ctx }.cast::<Self>();
        // SAFETY: it is NULL or the box that `open` leaked, and the caller does not borrow it.
        unsafe { instance.as_mut() }.ok_or(DocaError::INVALID_VALUE)
    }

    /// Returns the `serve` of [`functions`](Self::functions), which a C function cannot capture.
    /// # Safety
    /// A value of `M` exists.
    unsafe fn serve() -> M {
        const { assert!(size_of::<M>() == 0, "what makes futures has captured something") };
        // SAFETY: it is a `Copy` type without bytes, and the caller guarantees that a value exists.
        unsafe { std::mem::zeroed() }
    }

    unsafe extern "C" fn open(ctx: *mut WorkerCtx) -> DocaStatus {
        install_hook();
        guard("open", DocaStatus::UNEXPECTED, || {
            let Some(ctx) = NonNull::new(ctx) else { return DocaStatus::INVALID_VALUE };
            // SAFETY: a worker passes a context it allocated, without an instance before `open`.
            unsafe { (*ctx.as_ptr()).plugin_ctx = std::ptr::null_mut() };
            log::begin(P::NAME);
            // SAFETY: the context does not move until after `close`; its look-ups follow the ABI.
            let domains = unsafe { OpenDomains::new(ctx) };
            let cx = OpenContext::of::<P>(WorkerSide::new(ctx, domains.handle()));
            match P::open(&cx) {
                Ok(handler) => {
                    // SAFETY: `functions`, which made this function, was given a value.
                    let serve = unsafe { Self::serve() };
                    // SAFETY: it is `Serve::serve`, by the contract of `functions`.
                    let executor = unsafe { Executor::new(handler, serve, cx.into_worker()) };
                    let calls = GuardedCalls::of_this_thread();
                    let instance = HandlerInstance::<T, P, F, M> {
                        calls,
                        executor,
                        address: None,
                        _domains: domains,
                    };
                    let instance = Box::into_raw(Box::new(instance)).cast::<c_void>();
                    // SAFETY: no other call uses the context during `open`.
                    unsafe { (*ctx.as_ptr()).plugin_ctx = instance };
                    DocaStatus::SUCCESS
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
            // SAFETY: the worker passes the context of `open`, and calls never overlap.
            unsafe { (*ctx).plugin_ctx = std::ptr::null_mut() };
            // SAFETY: it is the box that `open` leaked, and calls never overlap.
            drop(unsafe { Box::from_raw(instance) });
        });
    }

    /// The handler's address in its [frame](urom_abi::address); without an address an empty frame.
    unsafe extern "C" fn addr(
        ctx: *mut WorkerCtx,
        addr: *mut c_void,
        addr_len: *mut usize,
    ) -> DocaStatus {
        guard("addr", DocaStatus::UNEXPECTED, || {
            // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
            let instance = match unsafe { Self::of(ctx) } {
                Ok(instance) => instance,
                Err(code) => return code.into(),
            };
            match instance.address() {
                // SAFETY: the ABI guarantees the contract of `copy_out`.
                Ok(address) => unsafe { copy_out(address, addr.cast(), addr_len) }.into(),
                Err(error) => failed("addr", error),
            }
        })
    }

    /// Takes every command off the list. The notification of a bad command carries its error.
    unsafe extern "C" fn worker_cmd(ctx: *mut WorkerCtx, cmd_list: *mut ListLink) -> DocaStatus {
        // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
        let instance = unsafe { Self::of(ctx) };
        let (Ok(Self { calls, executor, .. }), Some(list)) = (instance, NonNull::new(cmd_list))
        else {
            return DocaStatus::INVALID_VALUE;
        };
        calls.guard("worker_cmd", DocaStatus::UNEXPECTED, || {
            // SAFETY: a worker passes the head of a well-formed list, lent for the call.
            let mut commands = unsafe { BorrowedList::new(list) };
            executor.accept(&mut commands);
            DocaStatus::SUCCESS
        })
    }

    unsafe extern "C" fn progress(ctx: *mut WorkerCtx, notif_list: *mut ListLink) -> DocaStatus {
        // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
        let Self { calls, executor, .. } = match unsafe { Self::of(ctx) } {
            Ok(instance) if !notif_list.is_null() => instance,
            _ => return DocaStatus::INVALID_VALUE,
        };
        calls.guard("progress", DocaStatus::UNEXPECTED, || {
            let finished = executor.progress();
            if finished.is_empty() {
                return DocaStatus::EMPTY;
            }
            // SAFETY: a worker passes the head of a well-formed list, which belongs to the plugin
            // during the call; `finished` is a different list.
            unsafe { list::append(notif_list, finished.as_raw()) };
            DocaStatus::SUCCESS
        })
    }

    unsafe extern "C" fn call(ctx: *mut WorkerCtx, call: *mut CommandCall) -> Called {
        // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
        let instance = unsafe { Self::of(ctx) };
        let (Ok(Self { calls, executor, .. }), Some(call)) = (instance, NonNull::new(call)) else {
            return Called::DECLINED;
        };
        // SAFETY: a worker passes its own structure, which begins with its size.
        let size = unsafe { call.cast::<usize>().read() };
        // Only one comparison for commands without a trace context.
        let context = match size == size_of::<CommandCall>() {
            true => None,
            false if size < size_of::<CommandCall>() => return Called::DECLINED,
            // SAFETY: it is as long as its size.
            false => unsafe { context_of(call, size) },
        };
        // SAFETY: it is at least as long as this release's, and only this call accesses it.
        let call = unsafe { &mut *call.as_ptr() };
        calls.guard("call", Called::PENDING, || match context {
            // SAFETY: the worker's bytes and answer buffer are valid during the call.
            None => unsafe { executor.call(call) },
            // SAFETY: as above.
            Some(context) => unsafe { executor.call_traced(call, context) },
        })
    }

    unsafe extern "C" fn cancel(
        ctx: *mut WorkerCtx,
        dest_id: u64,
        urom_context: u64,
        reason: extension::CancelReason,
    ) {
        // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
        let Ok(Self { calls, executor, .. }) = (unsafe { Self::of(ctx) }) else { return };
        let cancel = || executor.cancel(dest_id, urom_context, CancelReason::of(reason));
        calls.guard("cancel", (), cancel);
    }

    unsafe extern "C" fn host_left(ctx: *mut WorkerCtx, dest_id: u64) {
        // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
        let Ok(Self { calls, executor, .. }) = (unsafe { Self::of(ctx) }) else { return };
        calls.guard("host_left", (), || executor.host_left(dest_id));
    }

    unsafe extern "C" fn arm(ctx: *mut WorkerCtx, fds: *mut c_int, capacity: usize) -> usize {
        // SAFETY: the ABI guarantees the contract of `of`, and calls never overlap.
        let Ok(Self { calls, executor, .. }) = (unsafe { Self::of(ctx) }) else { return 0 };
        let (fds, capacity) =
            if fds.is_null() { (NonNull::dangling().as_ptr(), 0) } else { (fds, capacity) };
        // SAFETY: the worker's buffer has `capacity` descriptors; an empty slice may dangle.
        let fds = unsafe { std::slice::from_raw_parts_mut(fds, capacity) };
        calls.guard("arm", 0, || executor.arm(fds).unwrap_or(extension::READY))
    }

    fn address(&mut self) -> Result<&[u8]> {
        if let Some(address) = self.address.take() {
            return Ok(self.address.insert(address));
        }
        let address = self.executor.address()?;
        let (framed, len) = (urom_abi::address::around(&address), address.len());
        let Some(framed) = framed else {
            bail!(DocaError::TOO_BIG, "an address of {len} bytes is longer than a worker takes");
        };
        Ok(self.address.insert(framed))
    }
}

unsafe extern "C" fn attached(ctx: *mut WorkerCtx, services: *const WorkerServices) {
    guard("attach", (), || {
        let Some(ctx) = NonNull::new(ctx) else { return };
        // SAFETY: the ABI guarantees the contract of `attach`.
        unsafe { attach(ctx, services) };
    });
}

/// Reads the trace context of a call.
/// # Safety
/// `call` points to `size` bytes that a worker has written.
#[cold]
unsafe fn context_of(call: NonNull<CommandCall>, size: usize) -> Option<TraceContext> {
    if size < size_of::<TracedCall>() {
        return None;
    }
    // SAFETY: the caller guarantees these bytes.
    TraceContext::from_bytes(unsafe { &(*call.cast::<TracedCall>().as_ptr()).context })
}

/// Cannot panic.
unsafe extern "C" fn notif_pack(
    notif: *mut WorkerNotify,
    packed_len: *mut usize,
    packed: *mut c_void,
) -> DocaStatus {
    let Some(notif) = NonNull::new(notif) else { return DocaStatus::INVALID_VALUE };
    // SAFETY: a worker passes the header of a notification from this plugin.
    let len = unsafe { (*notif.as_ptr()).len } as usize;
    let Some(whole) = size_of::<WorkerNotify>().checked_add(len) else {
        return DocaStatus::INVALID_VALUE;
    };
    // SAFETY: this plugin allocated the header and `len` bytes as one zeroed block.
    let whole = unsafe { std::slice::from_raw_parts(notif.as_ptr().cast::<u8>(), whole) };
    // SAFETY: the ABI guarantees the contract of `copy_out`.
    unsafe { copy_out(whole, packed.cast(), packed_len) }.into()
}

/// Copies `bytes` to `to`. `len` is the capacity on entry and the needed size on return.
/// # Errors
/// `INVALID_VALUE` if the buffer is too small or a needed pointer is NULL.
/// # Safety
/// `len` is NULL or valid for reads and writes. `to` is NULL or valid for writes of `*len` bytes
/// that do not overlap `bytes`.
unsafe fn copy_out(bytes: &[u8], to: *mut u8, len: *mut usize) -> Result<(), DocaError> {
    let len = NonNull::new(len).ok_or(DocaError::INVALID_VALUE)?;
    // SAFETY: the caller guarantees that `len` is readable.
    let capacity = unsafe { len.read() };
    // SAFETY: the caller guarantees that `len` is writable.
    unsafe { len.write(bytes.len()) };
    if bytes.is_empty() {
        return Ok(());
    }
    if bytes.len() > capacity || to.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: all bytes fit, and the caller guarantees that the buffers do not overlap.
    unsafe { urom_abi::copy(bytes.as_ptr(), to, bytes.len()) };
    Ok(())
}

fn failed(method: &str, error: Error) -> DocaStatus {
    let (code, at) = (error.code(), error.at().map(CodeLocation::of));
    // Formatting and dropping an error runs the handler's code.
    catch("a handler's error", || {
        log::failure(Level::Error, at, format_args!("{method} failed: {}", log::shown(&error)));
        drop(error);
    });
    code.into()
}
