//! What a host's pointers point to: memory that is never freed.
//!
//! A host may use a pointer after it destroyed the object, or pass it to a function for another
//! kind. To detect this without reading freed memory, everything that a host has a pointer to
//! begins with a [`Mark`], a word that stays readable until the process ends. A context, an engine,
//! a query, a device's description, a memory map, an inventory and its buffers, a graph and its
//! parts are behind a [`Shell`], which outlives them and is reused later. Tasks and devices have a mark of their own
//! and are never freed.

use std::collections::{BTreeSet, VecDeque};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use urom_abi::DocaError;
use urom_os::fork::{Inherited, Maker, PerProcess};

/// How many shells rest before the first is reused, so that an old pointer finds no object rather
/// than a wrong one.
const RESTING: usize = 256;

/// Pointers below this are null or small numbers: no memory is there.
const NUMBERS: usize = 4096;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Context,
    Pe,
    Query,
    DeviceInfo,
    Device,
    Command,
    Buffer,
    Map,
    Inventory,
    Pool,
    Element,
    Local,
    Graph,
    Node,
    Instance,
    RemoteNet,
}

impl Kind {
    const fn word(self) -> u32 {
        u32::from_le_bytes(match self {
            Kind::Context => *b"ctx:",
            Kind::Pe => *b"pe::",
            Kind::Query => *b"gid:",
            Kind::DeviceInfo => *b"inf:",
            Kind::Device => *b"dev:",
            Kind::Command => *b"cmd:",
            Kind::Buffer => *b"buf:",
            Kind::Map => *b"map:",
            Kind::Inventory => *b"inv:",
            Kind::Pool => *b"pol:",
            Kind::Element => *b"elm:",
            Kind::Local => *b"lcl:",
            Kind::Graph => *b"gra:",
            Kind::Node => *b"nod:",
            Kind::Instance => *b"ins:",
            Kind::RemoteNet => *b"net:",
        })
    }
}

/// The first word of everything that a host has a pointer to: its kind and its maker while the host
/// has it, else nothing.
///
/// Atomic, as a wrong pointer may belong to another thread.
#[derive(Debug)]
#[repr(transparent)]
pub(super) struct Mark(AtomicU64);

impl Mark {
    pub(super) const fn none() -> Mark {
        Mark(AtomicU64::new(0))
    }

    #[inline]
    pub(super) fn set(&self, kind: Kind) {
        let word = u64::from(Maker::here().bits()) << 32 | u64::from(kind.word());
        self.0.store(word, Ordering::Relaxed);
    }

    #[inline]
    pub(super) fn clear(&self) {
        self.0.store(0, Ordering::Relaxed);
    }

    /// `INVALID_VALUE` unless it is of this kind, `BAD_STATE` if it was made before a fork.
    #[inline]
    pub(super) fn check(&self, kind: Kind) -> Result<(), DocaError> {
        let word = self.0.load(Ordering::Relaxed);
        if word as u32 != kind.word() {
            return Err(DocaError::INVALID_VALUE);
        }
        Ok(Maker::from_bits((word >> 32) as u32).check()?)
    }

    /// Why nothing can be done with it, if it was made before a fork.
    pub(super) fn inherited(&self) -> Option<Inherited> {
        let word = self.0.load(Ordering::Relaxed);
        (word != 0).then(|| Maker::from_bits((word >> 32) as u32).check().err()).flatten()
    }

    /// The mark at a pointer of a host; `None` where no mark can be.
    ///
    /// # Safety
    /// `pointer` is null, or one that this library once gave to the host.
    #[inline]
    pub(super) unsafe fn at<'a, C>(pointer: *const C) -> Option<&'a Mark> {
        let mark = pointer.cast::<Mark>();
        if mark.addr() < NUMBERS || !mark.is_aligned() {
            return None;
        }
        // SAFETY: not null; whatever else a host is given begins with a mark, and that stays for
        // ever.
        Some(unsafe { &*mark })
    }
}

/// Stands for an object that may be freed while the host still has a pointer.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Shell {
    mark: Mark,
    object: AtomicPtr<()>,
}

impl Shell {
    /// The object behind it; meaningless unless the mark says that there is one.
    #[inline]
    pub(super) fn object<T>(&self) -> *const T {
        self.object.load(Ordering::Relaxed).cast()
    }

    /// For an object that a host has at times.
    #[inline]
    pub(super) fn mark(&self) -> &Mark {
        &self.mark
    }
}

pub(super) struct Shells {
    /// The addresses of all there are.
    known: BTreeSet<usize>,
    /// The empty ones, the first to be emptied first.
    resting: VecDeque<&'static Shell>,
}

static ALL: PerProcess<Mutex<Shells>> = PerProcess::new(|| Mutex::new(Shells::NONE));

/// The code for a pointer that this process does not know: `BAD_STATE` if it was known before a
/// fork.
pub(super) fn made_before<T: Send>(
    all: &PerProcess<Mutex<T>>,
    knows: impl Fn(&T) -> bool,
) -> DocaError {
    if all.held_before(knows) { DocaError::BAD_STATE } else { DocaError::INVALID_VALUE }
}

impl Shells {
    const NONE: Shells = Shells { known: BTreeSet::new(), resting: VecDeque::new() };

    pub(super) fn all() -> MutexGuard<'static, Shells> {
        ALL.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether there is a shell at this address, which may be anything. `INVALID_VALUE` if not,
    /// `BAD_STATE` for one from before a fork.
    pub(super) fn check<C>(pointer: *const C) -> Result<(), DocaError> {
        if Shells::all().has(pointer) {
            return Ok(());
        }
        Err(made_before(&ALL, |shells| shells.has(pointer)))
    }

    pub(super) fn enclose<T>(&mut self, kind: Kind, object: *const T) -> &'static Shell {
        let rested = if self.resting.len() > RESTING { self.resting.pop_front() } else { None };
        let shell = rested.unwrap_or_else(|| {
            let new = Shell { mark: Mark::none(), object: AtomicPtr::new(ptr::null_mut()) };
            let shell: &'static Shell = Box::leak(Box::new(new));
            self.known.insert(ptr::from_ref(shell).addr());
            shell
        });
        shell.object.store(object.cast_mut().cast(), Ordering::Relaxed);
        shell.mark.set(kind);
        shell
    }

    pub(super) fn empty(&mut self, shell: &'static Shell) {
        shell.mark.clear();
        self.resting.push_back(shell);
    }

    fn has<C>(&self, pointer: *const C) -> bool {
        self.known.contains(&pointer.addr())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shell_is_of_one_kind_and_nothing_once_it_is_empty() {
        let mut shells = Shells::NONE;
        let object = 7;
        let shell = shells.enclose(Kind::Pe, &object);
        assert_eq!(shell.object::<i32>(), &raw const object);
        assert_eq!(shell.mark.check(Kind::Pe), Ok(()));
        assert_eq!(shell.mark.check(Kind::Query), Err(DocaError::INVALID_VALUE));
        assert!(shells.has(shell) && !shells.has(&object) && !shells.has(ptr::null::<u8>()));
        shells.empty(shell);
        assert_eq!(shell.mark.check(Kind::Pe), Err(DocaError::INVALID_VALUE));
    }

    #[test]
    fn a_shell_rests_before_it_serves_again() {
        let mut shells = Shells::NONE;
        let first = shells.enclose(Kind::Pe, &1);
        shells.empty(first);
        let mut others = 0;
        while !ptr::eq(first, shells.enclose(Kind::Query, &2)) {
            others += 1;
            let next = shells.enclose(Kind::Pe, &3);
            shells.empty(next);
            assert!(others <= RESTING);
        }
        assert_eq!(others, RESTING);
        assert_eq!(first.mark.check(Kind::Query), Ok(()));
    }

    #[test]
    fn no_mark_is_where_none_can_be() {
        // SAFETY: null, and what is no mark's address.
        assert!(unsafe { Mark::at(ptr::null::<u8>()) }.is_none());
        // SAFETY: a number.
        assert!(unsafe { Mark::at(ptr::without_provenance::<u8>(8)) }.is_none());
        let words = [0_u64; 2];
        // SAFETY: refused before it is read.
        assert!(unsafe { Mark::at(ptr::from_ref(&words).cast::<u8>().wrapping_add(1)) }.is_none());
    }
}
