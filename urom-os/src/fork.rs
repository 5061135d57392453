//! `fork`: a child has a copy of its parent's memory and descriptors, but not its threads.
//!
//! An object that uses a thread, a socket or another process belongs to its [`Maker`], the process
//! that made the object. In a child its calls fail, and its drop changes nothing: the descriptors
//! are shared with the parent. A static with a lock is [`PerProcess`], because a thread of the
//! parent may hold the lock during the fork.
//!
//! `pthread_atfork` notices `fork`, and with it `daemon(3)`. `vfork` and `posix_spawn` call no
//! handler, and need none: the child runs another program. The bare system call and `_Fork` call
//! no handler either, so this module does not notice them.

use std::fmt;
use std::ops::Deref;
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

/// Linux's process ids have 22 bits. The bits above them count the forks since the first maker: a
/// child in a new namespace may have its parent's id.
const PID_BITS: u32 = 22;

/// The current process as a maker; 0 before the first object.
static HERE: AtomicU32 = AtomicU32::new(0);

/// The process that made an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Maker(u32);

impl Maker {
    /// This process. The first call has `fork` watched.
    #[inline]
    #[must_use]
    pub fn here() -> Maker {
        match HERE.load(Ordering::Relaxed) {
            0 => first(),
            word => Maker(word),
        }
    }

    /// Whether this process made it.
    #[inline]
    #[must_use]
    pub fn is_here(self) -> bool {
        HERE.load(Ordering::Relaxed) == self.0
    }

    /// # Errors
    /// In a process that was forked since.
    #[inline]
    pub fn check(self) -> Result<(), Inherited> {
        if self.is_here() { Ok(()) } else { Err(Inherited { process: self.0 & !(!0 << PID_BITS) }) }
    }

    /// A number for [`from_bits`](Self::from_bits); never 0.
    #[inline]
    #[must_use]
    pub fn bits(self) -> u32 {
        self.0
    }

    /// The maker with these bits.
    #[inline]
    #[must_use]
    pub fn from_bits(bits: u32) -> Maker {
        Maker(bits)
    }
}

fn word(forks: u32) -> u32 {
    forks << PID_BITS | std::process::id() & !(!0 << PID_BITS)
}

#[cold]
fn first() -> Maker {
    // Two threads may both be the first. Then a fork counts twice, which does no harm. Miri cannot
    // fork.
    #[cfg(not(miri))]
    // SAFETY: the handler stays: glibc forgets it when this library is unloaded. It only loads and
    // stores a number. Without memory for it, forks stay unnoticed.
    unsafe {
        libc::pthread_atfork(None, None, Some(in_child))
    };
    let _ = HERE.compare_exchange(0, word(0), Ordering::Relaxed, Ordering::Relaxed);
    Maker(HERE.load(Ordering::Relaxed))
}

#[cfg(not(miri))]
unsafe extern "C" fn in_child() {
    let forks = HERE.load(Ordering::Relaxed) >> PID_BITS;
    HERE.store(word(forks.wrapping_add(1)), Ordering::Relaxed);
}

/// Why an object cannot be used: another process made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// The process that made it.
    pub process: u32,
}

impl Inherited {
    /// The next step for the user.
    pub const HINT: &'static str = "connect again in this process";
}

impl fmt::Display for Inherited {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "made before fork, in process {}", self.process)
    }
}

impl std::error::Error for Inherited {}

/// A static value with one instance for each process. A child makes its own at the first use, so a
/// lock that a thread of the parent held during the fork does not matter.
#[derive(Debug)]
pub struct PerProcess<T> {
    slot: AtomicPtr<MakerSlot<T>>,
    make: fn() -> T,
}

#[derive(Debug)]
struct MakerSlot<T> {
    maker: Maker,
    value: T,
    /// The value of the parent. It is never freed: the parent's threads left it in any state.
    before: *const MakerSlot<T>,
}

impl<T: Send + Sync> PerProcess<T> {
    /// `make` makes the value of a process.
    #[must_use]
    pub const fn new(make: fn() -> T) -> PerProcess<T> {
        PerProcess { slot: AtomicPtr::new(ptr::null_mut()), make }
    }

    fn slot(&self) -> &MakerSlot<T> {
        let here = Maker::here();
        let there = self.slot.load(Ordering::Acquire);
        // SAFETY: null, or from a box that is never freed.
        match unsafe { there.as_ref() } {
            Some(slot) if slot.maker == here => slot,
            _ => self.renew(here, there),
        }
    }

    #[cold]
    fn renew(&self, here: Maker, before: *mut MakerSlot<T>) -> &MakerSlot<T> {
        let new = Box::into_raw(Box::new(MakerSlot { maker: here, value: (self.make)(), before }));
        let first = self.slot.compare_exchange(before, new, Ordering::AcqRel, Ordering::Acquire);
        let there = first.map_or_else(
            |there| {
                // SAFETY: from the box above; no other thread has seen the pointer.
                drop(unsafe { Box::from_raw(new) });
                there
            },
            |_| new,
        );
        // SAFETY: from a box that is never freed, which a thread of this process made.
        unsafe { &*there }
    }
}

impl<T: Send> PerProcess<Mutex<T>> {
    /// Whether `holds` is true for the value of a parent or its parents. A value that a thread had
    /// locked during the fork counts as true, because it cannot be read.
    pub fn held_before(&self, holds: impl Fn(&T) -> bool) -> bool {
        let mut slot = self.slot().before;
        // SAFETY: null, or from a box that is never freed.
        while let Some(before) = unsafe { slot.as_ref() } {
            if before.value.try_lock().map_or(true, |value| holds(&value)) {
                return true;
            }
            slot = before.before;
        }
        false
    }
}

impl<T: Send + Sync> Deref for PerProcess<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.slot().value
    }
}

#[cfg(test)]
// Miri cannot fork.
#[cfg(not(miri))]
mod tests {
    use super::*;

    /// Runs `child` in a child process; other threads run tests meanwhile.
    fn holds_in_child(child: impl FnOnce() -> bool) -> bool {
        // SAFETY: the child calls nothing that another thread's lock could hold up, and ends.
        match unsafe { libc::fork() } {
            0 => {
                let code = if child() { 0 } else { 1 };
                // SAFETY: ends the child at once.
                unsafe { libc::_exit(code) }
            }
            id => {
                let mut status = -1;
                // SAFETY: a child of this process, and a local variable.
                assert_eq!(unsafe { libc::waitpid(id, &mut status, 0) }, id);
                status == 0
            }
        }
    }

    #[test]
    fn an_object_is_its_maker_s_in_no_other_process() {
        let (maker, process) = (Maker::here(), std::process::id());
        assert_eq!(maker.check(), Ok(()));
        assert!(holds_in_child(|| {
            let own = Maker::here();
            maker.check() == Err(Inherited { process })
                && own.is_here()
                && holds_in_child(|| !maker.is_here() && !own.is_here())
        }));
        assert!(maker.is_here() && Maker::from_bits(maker.bits()) == maker);
        assert_eq!(Inherited { process: 7 }.to_string(), "made before fork, in process 7");
    }

    #[test]
    fn a_child_has_a_value_of_its_own_though_the_other_is_locked() {
        static VALUE: PerProcess<Mutex<u32>> = PerProcess::new(|| Mutex::new(1));
        let mut value = VALUE.lock().unwrap();
        *value = 2;
        assert!(holds_in_child(|| *VALUE.lock().unwrap() == 1 && VALUE.held_before(|_| false)));
        drop(value);
        assert!(holds_in_child(|| VALUE.held_before(|value| *value == 2)));
        assert!(holds_in_child(|| !VALUE.held_before(|value| *value == 1)));
        assert!(!VALUE.held_before(|_| true));
        assert_eq!(*VALUE.lock().unwrap(), 2);
    }
}
