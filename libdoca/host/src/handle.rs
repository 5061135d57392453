//! Converts between C's pointers and this library's objects.
//!
//! Set-up calls check that a pointer is one of this library's, so any other gives `INVALID_VALUE`.
//! Calls of the fast path (progress, and all calls with a command task) check only the
//! [mark](crate::shell): they notice an object that is destroyed or of another kind, and trust that
//! the pointer is NULL or once came from this library.
//!
//! What was made before a fork is refused here, with `BAD_STATE`, and nothing of it is touched: its
//! connections and threads are the parent's.

use std::ffi::c_char;
use std::ops::Deref;
use std::ptr;
use std::rc::Rc;

use urom_abi::DocaError;
use urom_abi::host;
use urom_os::fork::Inherited;
use urom_wire::control::Failure;

use crate::buf::Buffer;
use crate::device::DeviceInfo;
use crate::map::Map;
use crate::map::descriptor::Descriptor;
use crate::map::stock::{Inventory, Pool};
use crate::pe::Pe;
use crate::pe::ctx::advise::MmapAdvise;
use crate::pe::ctx::domain::Domain;
use crate::pe::ctx::service::Service;
use crate::pe::ctx::service::gid::GidTask;
use crate::pe::ctx::sync_event::RemoteNet;
use crate::pe::ctx::sync_event::SyncEvent;
use crate::pe::ctx::worker::Worker;
use crate::pe::ctx::{self, Context};
use crate::pe::graph::instance::Instance;
use crate::pe::graph::{Graph, NodeOf};
use crate::pe::local::{LocalTask, OfKind};
use crate::pe::run::task::{CmdTask, Head};
use crate::shell::{Kind, Mark, Shell, Shells};

/// An object to which hosts have a pointer, by way of its shell.
///
/// # Safety
/// Each type has a kind of its own.
pub(super) unsafe trait Registered {
    const KIND: Kind;
}

macro_rules! registered {
    ($($kind:ident: $object:ty;)*) => {$(
        // SAFETY: the only type of this kind.
        unsafe impl Registered for $object {
            const KIND: Kind = Kind::$kind;
        }
    )*};
}

registered! {
    Context: Context;
    Pe: Pe;
    Query: GidTask;
    DeviceInfo: DeviceInfo;
    Map: Map;
    Inventory: Inventory;
    Pool: Pool;
    Element: Descriptor;
    Local: LocalTask;
    Graph: Graph;
    Node: NodeOf;
    Instance: Instance;
    RemoteNet: RemoteNet;
}

pub(super) fn publish<T: Registered, C>(object: Rc<T>) -> *mut C {
    let shell: *const Shell = Shells::all().enclose(T::KIND, Rc::into_raw(object));
    shell.cast_mut().cast()
}

/// Hands a new context to the host.
pub(super) fn publish_context<C>(own: ctx::Kind) -> *mut C {
    let ctx = Context::new(own);
    let pointer: *mut host::Ctx = publish(Rc::clone(&ctx));
    ctx.pointer.set(pointer);
    pointer.cast()
}

/// What a pointer of the host stands for.
///
/// # Safety
/// `pointer` is null, or once came from this library. What is marked with `kind` is a `T`, which
/// stays while the result is used: the host keeps DOCA's thread rules, and does not end the object
/// before that.
#[inline]
unsafe fn find<'a, T, C>(kind: Kind, pointer: *const C) -> Result<&'a T, DocaError> {
    // SAFETY: the caller's promise.
    let mark = unsafe { Mark::at(pointer) };
    mark.ok_or(DocaError::INVALID_VALUE)?.check(kind)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { &*pointer.cast::<T>() })
}

/// The object behind a pointer to its shell.
///
/// # Safety
/// The host keeps DOCA's thread rules, and does not end the object while the result is used.
pub(super) unsafe fn borrow<'a, T: Registered, C>(pointer: *const C) -> Result<&'a T, DocaError> {
    Shells::check(pointer)?;
    // SAFETY: a shell of this library, and the caller's promise.
    unsafe { quick(pointer) }
}

/// As [`borrow`], for calls of the fast path.
///
/// # Safety
/// As [`find`], for the object.
#[inline]
pub(super) unsafe fn quick<'a, T: Registered, C>(pointer: *const C) -> Result<&'a T, DocaError> {
    // SAFETY: only shells are marked with the kind of a registered type, and they stay for ever.
    let shell: &Shell = unsafe { find(T::KIND, pointer) }?;
    // SAFETY: a shell that says so holds a reference to a `T`.
    Ok(unsafe { &*shell.object::<T>() })
}

/// A context, kept alive: for calls that run the host's own functions, which may destroy it.
///
/// # Safety
/// The host keeps DOCA's thread rules.
pub(super) unsafe fn context(pointer: *const host::Ctx) -> Result<Rc<Context>, DocaError> {
    // SAFETY: the caller's promise, and it is kept alive below.
    let ctx: &Context = unsafe { borrow(pointer) }?;
    ctx.handle().ok_or(DocaError::INVALID_VALUE)
}

/// Takes an object back from the host.
///
/// # Safety
/// The host keeps DOCA's thread rules.
pub(super) unsafe fn withdraw<T: Registered, C>(pointer: *const C) -> Result<Rc<T>, DocaError> {
    Shells::check(pointer)?;
    // SAFETY: only shells are marked with the kind of a registered type, and they stay for ever.
    let shell: &'static Shell = unsafe { find(T::KIND, pointer) }?;
    let object = shell.object::<T>();
    Shells::all().empty(shell);
    // SAFETY: from `publish`; the shell is empty, so nobody takes it again.
    Ok(unsafe { Rc::from_raw(object) })
}

/// A context with its own part, as the functions of its kind use it.
pub(super) struct Own<'a, T> {
    pub(super) ctx: &'a Context,
    own: &'a T,
}

impl<T> Deref for Own<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        self.own
    }
}

impl<T> Own<'_, T> {
    /// Configures an idle context, which keeps the failure of a refusal.
    pub(super) fn configure(
        &self,
        set: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<(), DocaError> {
        self.ctx.require_idle()?;
        set().map_err(|failure| self.ctx.fail(&failure))
    }

    /// Destroys the context if it is idle; `busy` is the code if not.
    pub(super) fn destroy(&self, busy: DocaError) -> Result<(), DocaError> {
        self.ctx.require_idle().map_err(|_| busy)?;
        // SAFETY: the host's pointer to it; the caller uses nothing of it afterwards.
        let ctx: Rc<Context> = unsafe { withdraw(self.ctx.as_ctx()) }?;
        ctx.retire();
        Ok(())
    }
}

/// The context behind a host's pointer to one of this kind.
macro_rules! own {
    ($($name:ident by $find:ident: $pointer:ty => $kind:ident $part:ty;)*) => {$(
        /// # Safety
        /// As [`$find`].
        #[inline]
        pub(super) unsafe fn $name<'a>(
            pointer: *const $pointer,
        ) -> Result<Own<'a, $part>, DocaError> {
            // SAFETY: the caller's promise.
            let ctx: &Context = unsafe { $find(pointer) }?;
            Ok(Own { ctx, own: ctx.$kind()? })
        }
    )*};
}

own! {
    service by borrow: host::Service => service Service;
    worker by borrow: host::Worker => worker Worker;
    live_worker by quick: host::Worker => worker Worker;
    domain by borrow: host::Domain => domain Domain;
    sync_event by borrow: host::SyncEvent => sync_event SyncEvent;
    mmap_advise by borrow: host::MmapAdvise => mmap_advise MmapAdvise;
}

pub(super) enum AnyTask<'a> {
    Command(&'static CmdTask),
    Query(&'a GidTask),
    Local(&'a LocalTask),
}

impl<'a> AnyTask<'a> {
    #[inline]
    pub(super) fn head(&self) -> &'a Head {
        match self {
            AnyTask::Command(task) => &task.head,
            AnyTask::Query(task) => &task.head,
            AnyTask::Local(task) => &task.head,
        }
    }

    /// The context it belongs to, as the host knows it.
    pub(super) fn ctx(&self) -> *mut host::Ctx {
        match self {
            AnyTask::Command(task) => task.run().map_or(ptr::null_mut(), |run| run.ctx.as_ctx()),
            AnyTask::Query(task) => task.ctx.as_ctx(),
            AnyTask::Local(task) => task.ctx.as_ctx(),
        }
    }

    /// Submits it. After an error it is still the caller's.
    #[inline]
    pub(super) fn submit(&self) -> Result<(), DocaError> {
        match self {
            AnyTask::Command(task) => {
                task.head.is_callers()?;
                task.run().ok_or(DocaError::BAD_STATE)?.submit(task)
            }
            AnyTask::Query(task) => task.submit(),
            AnyTask::Local(task) => task.submit(),
        }
    }
}

/// A task.
///
/// # Safety
/// As [`quick`].
#[inline]
pub(super) unsafe fn task<'a>(pointer: *const host::Task) -> Result<AnyTask<'a>, DocaError> {
    // SAFETY: the caller's promise.
    match unsafe { command(pointer.cast()) } {
        Err(DocaError::INVALID_VALUE) => {}
        task => return task.map(AnyTask::Command),
    }
    // SAFETY: the caller's promise.
    match unsafe { quick(pointer) } {
        // SAFETY: the caller's promise.
        Err(DocaError::INVALID_VALUE) => unsafe { quick(pointer) }.map(AnyTask::Local),
        query => query.map(AnyTask::Query),
    }
}

/// A task of a context without a worker, of the kind that the pointer is for.
///
/// # Safety
/// As [`borrow`].
pub(super) unsafe fn local<'a, T: OfKind>(pointer: *const T) -> Result<&'a LocalTask, DocaError> {
    // SAFETY: the caller's promise.
    let task: &LocalTask = unsafe { borrow(pointer) }?;
    if task.kind == T::KIND { Ok(task) } else { Err(DocaError::INVALID_VALUE) }
}

/// A command task.
///
/// # Safety
/// As [`quick`].
#[inline]
pub(super) unsafe fn command(pointer: *const host::CmdTask) -> Result<&'static CmdTask, DocaError> {
    // SAFETY: only a command task is marked so, only while it is the host's, and it is never freed.
    unsafe { find(Kind::Command, pointer) }
}

/// A buffer of a task.
///
/// # Safety
/// As [`quick`].
#[inline]
pub(super) unsafe fn buffer<'a>(pointer: *const host::Buf) -> Result<&'a Buffer, DocaError> {
    // SAFETY: only a buffer is marked so, and only while its task is the host's.
    unsafe { find(Kind::Buffer, pointer) }
}

/// A buffer of either kind.
pub(super) enum AnyBuf<'a> {
    /// A task's.
    OfTask(&'a Buffer),
    /// One of an inventory or a pool.
    OfMap(&'a Descriptor),
}

/// A buffer of either kind.
///
/// # Safety
/// As [`quick`].
#[inline]
pub(super) unsafe fn any_buf<'a>(pointer: *const host::Buf) -> Result<AnyBuf<'a>, DocaError> {
    // SAFETY: the caller's promise.
    match unsafe { buffer(pointer) } {
        // SAFETY: the caller's promise.
        Err(DocaError::INVALID_VALUE) => unsafe { quick(pointer) }.map(AnyBuf::OfMap),
        buffer => buffer.map(AnyBuf::OfTask),
    }
}

/// Writes why an object was refused with `code`, if it was made before a fork; the whole length.
///
/// # Safety
/// As [`find`] for an object that was refused with `BAD_STATE`, and [`put_text`] for the place.
pub(super) unsafe fn put_inherited<C>(
    code: DocaError,
    pointer: *const C,
    place: *mut c_char,
    capacity: usize,
) -> usize {
    if code != DocaError::BAD_STATE {
        return 0;
    }
    // SAFETY: the caller's promise.
    let mark = unsafe { Mark::at(pointer) };
    let Some(why) = mark.and_then(Mark::inherited) else { return 0 };
    // SAFETY: the caller's promise.
    unsafe { put_text(&format!("{why}: {}", Inherited::HINT), place, capacity) }
}

/// Writes a result.
///
/// # Safety
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

/// `INVALID_VALUE` for null. For places of results, checked before anything is made that would be
/// lost.
#[inline]
pub(super) fn present<T>(place: *const T) -> Result<(), DocaError> {
    if place.is_null() { Err(DocaError::INVALID_VALUE) } else { Ok(()) }
}

/// Writes as much of a text as fits to the caller's place, without a NUL; its whole length.
///
/// # Safety
/// `place` is NULL or has `capacity` bytes, and the text is not in it.
pub(super) unsafe fn put_text(text: &str, place: *mut c_char, capacity: usize) -> usize {
    if !place.is_null() {
        let len = text.len().min(capacity);
        // SAFETY: the caller's promise.
        unsafe { place.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), len) };
    }
    text.len()
}
