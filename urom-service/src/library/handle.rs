//! From C's pointers to this library's objects and back.
//!
//! Every context, progress engine, query and device a host holds is in a registry, by address: set-up calls look there
//! first, so a pointer that is freed or foreign gives `INVALID_VALUE`. The calls of the fast path (progress, and all
//! that make or take a command task) look at a word inside the object instead.

use std::collections::HashMap;
use std::rc::Rc;
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use urom_abi::DocaError;
use urom_abi::host;

use super::buf::Buffer;
use super::ctx::Context;
use super::device::DeviceInfo;
use super::domain::Domain;
use super::gid::GidTask;
use super::pe::Pe;
use super::service::Service;
use super::task::{CmdTask, Head, Magic};
use super::worker::Worker;

/// What an address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Context,
    Pe,
    Query,
    DeviceInfo,
}

/// An object that hosts hold by address.
///
/// # Safety
///
/// Each type has a kind of its own.
unsafe trait Registered {
    const KIND: Kind;
}

// SAFETY: the only type of this kind.
unsafe impl Registered for Context {
    const KIND: Kind = Kind::Context;
}
// SAFETY: the only type of this kind.
unsafe impl Registered for Pe {
    const KIND: Kind = Kind::Pe;
}
// SAFETY: the only type of this kind.
unsafe impl Registered for GidTask {
    const KIND: Kind = Kind::Query;
}
// SAFETY: the only type of this kind.
unsafe impl Registered for DeviceInfo {
    const KIND: Kind = Kind::DeviceInfo;
}

fn registry() -> MutexGuard<'static, HashMap<usize, Kind>> {
    static REGISTRY: LazyLock<Mutex<HashMap<usize, Kind>>> = LazyLock::new(Mutex::default);
    REGISTRY.lock().unwrap_or_else(PoisonError::into_inner)
}

#[allow(private_bounds, reason = "called with this module's types only")]
/// Hands an object to the host.
pub(super) fn publish<T: Registered, C>(object: Rc<T>) -> *mut C {
    let pointer = Rc::into_raw(object);
    registry().insert(pointer.addr(), T::KIND);
    pointer.cast_mut().cast()
}

#[allow(private_bounds, reason = "called with this module's types only")]
/// The object a host means.
///
/// # Safety
///
/// The host keeps DOCA's thread rules, and does not end the object before the last use of the result.
pub(super) unsafe fn borrow<'a, T: Registered, C>(pointer: *const C) -> Result<&'a T, DocaError> {
    if registry().get(&pointer.addr()) != Some(&T::KIND) {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: the registry holds a reference to a `T` at this address, and the caller promises that it stays.
    Ok(unsafe { &*pointer.cast::<T>() })
}

#[allow(private_bounds, reason = "called with this module's types only")]
/// Takes an object back from the host.
pub(super) fn withdraw<T: Registered, C>(pointer: *const C) -> Result<Rc<T>, DocaError> {
    let mut registry = registry();
    if registry.get(&pointer.addr()) != Some(&T::KIND) {
        return Err(DocaError::INVALID_VALUE);
    }
    registry.remove(&pointer.addr());
    // SAFETY: from `publish`, which put it there once; now nobody takes it again.
    Ok(unsafe { Rc::from_raw(pointer.cast::<T>()) })
}

/// A service: its context and what is its own.
///
/// # Safety
///
/// As [`borrow`].
pub(super) unsafe fn service<'a>(
    pointer: *const host::Service,
) -> Result<(&'a Context, &'a Service), DocaError> {
    // SAFETY: the caller's promise.
    let ctx: &Context = unsafe { borrow(pointer)? };
    Ok((ctx, ctx.service()?))
}

/// A worker: its context and what is its own.
///
/// # Safety
///
/// As [`borrow`].
pub(super) unsafe fn worker<'a>(
    pointer: *const host::Worker,
) -> Result<(&'a Context, &'a Worker), DocaError> {
    // SAFETY: the caller's promise.
    let ctx: &Context = unsafe { borrow(pointer)? };
    Ok((ctx, ctx.worker()?))
}

/// A domain: its context and what is its own.
///
/// # Safety
///
/// As [`borrow`].
pub(super) unsafe fn domain<'a>(
    pointer: *const host::Domain,
) -> Result<(&'a Context, &'a Domain), DocaError> {
    // SAFETY: the caller's promise.
    let ctx: &Context = unsafe { borrow(pointer)? };
    Ok((ctx, ctx.domain()?))
}

/// A worker, quickly.
///
/// # Safety
///
/// `pointer` is null or a live worker of this thread.
#[inline]
pub(super) unsafe fn live_worker<'a>(
    pointer: *const host::Worker,
) -> Result<(&'a Context, &'a Worker), DocaError> {
    if pointer.is_null() || !pointer.cast::<Context>().is_aligned() {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: the caller promises a live worker.
    let ctx = unsafe { &*pointer.cast::<Context>() };
    if !ctx.is_genuine() {
        return Err(DocaError::INVALID_VALUE);
    }
    Ok((ctx, ctx.worker()?))
}

/// A progress engine, quickly.
///
/// # Safety
///
/// `pointer` is null or a live engine of this thread.
#[inline]
pub(super) unsafe fn pe<'a>(pointer: *const host::Pe) -> Option<&'a Pe> {
    if pointer.is_null() || !pointer.cast::<Pe>().is_aligned() {
        return None;
    }
    // SAFETY: the caller promises a live engine.
    let pe = unsafe { &*pointer.cast::<Pe>() };
    pe.is_genuine().then_some(pe)
}

/// What a task begins with.
///
/// # Safety
///
/// `pointer` is null or a live task of this thread.
#[inline]
pub(super) unsafe fn head<'a>(pointer: *const host::Task) -> Result<&'a Head, DocaError> {
    if pointer.is_null() || !pointer.cast::<Head>().is_aligned() {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: the caller promises a live task, and every task begins with a head.
    let head = unsafe { &*pointer.cast::<Head>() };
    let known = head.magic() == Magic::COMMAND || head.magic() == Magic::GROUP;
    known.then_some(head).ok_or(DocaError::INVALID_VALUE)
}

/// A command task.
///
/// # Safety
///
/// `pointer` is null or a live task of this thread.
#[inline]
pub(super) unsafe fn command<'a>(pointer: *const host::CmdTask) -> Result<&'a CmdTask, DocaError> {
    // SAFETY: the caller's promise.
    let head = unsafe { head(pointer.cast()) }?;
    if head.magic() != Magic::COMMAND {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: a live task that says it is a command.
    Ok(unsafe { &*pointer.cast::<CmdTask>() })
}

/// A buffer of a task.
///
/// # Safety
///
/// `pointer` is null or a buffer of a live task of this thread.
#[inline]
pub(super) unsafe fn buffer<'a>(pointer: *const host::Buf) -> Result<&'a Buffer, DocaError> {
    // SAFETY: the caller's promise.
    unsafe { pointer.cast::<Buffer>().as_ref() }.ok_or(DocaError::INVALID_VALUE)
}

/// Writes a result.
///
/// # Safety
///
/// `place` is null or can be written to.
#[inline]
pub(super) unsafe fn put<T>(place: *mut T, value: T) -> Result<(), DocaError> {
    if place.is_null() {
        return Err(DocaError::INVALID_VALUE);
    }
    // SAFETY: not null, and the caller promises the rest.
    unsafe { place.write(value) };
    Ok(())
}

/// `INVALID_VALUE` for null: asked before anything is made that a null would lose.
#[inline]
pub(super) fn present<T>(place: *const T) -> Result<(), DocaError> {
    if place.is_null() { Err(DocaError::INVALID_VALUE) } else { Ok(()) }
}
