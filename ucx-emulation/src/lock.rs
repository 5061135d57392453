//! A mutex for `malloc`: it does not allocate or use thread-local variables, and stays valid across
//! `fork`. `std::sync::Mutex` cannot be unlocked in the child.

use std::cell::UnsafeCell;

pub(crate) struct Lock<T> {
    mutex: UnsafeCell<libc::pthread_mutex_t>,
    value: UnsafeCell<T>,
}

// SAFETY: only the thread that holds the mutex uses the value.
unsafe impl<T: Send> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(crate) const fn new(value: T) -> Lock<T> {
        Lock {
            mutex: UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER),
            value: UnsafeCell::new(value),
        }
    }

    /// `f` must not use the lock.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.lock();
        // SAFETY: this thread holds the lock, and no reference outlives the closure.
        let result = f(unsafe { &mut *self.value.get() });
        // SAFETY: this thread locked it above.
        unsafe { self.unlock() };
        result
    }

    /// Locks until [`unlock`](Lock::unlock).
    pub(crate) fn lock(&self) {
        // SAFETY: the mutex is initialised and never moves: the arena's lock is a static.
        unsafe { libc::pthread_mutex_lock(self.mutex.get()) };
    }

    /// # Safety
    /// This thread, or the thread it was forked from, holds the lock.
    pub(crate) unsafe fn unlock(&self) {
        // SAFETY: the caller holds the lock, in this process or in the parent before the fork.
        unsafe { libc::pthread_mutex_unlock(self.mutex.get()) };
    }

    /// # Safety
    /// As for [`unlock`](Lock::unlock), and this thread does not hold another reference.
    #[expect(clippy::mut_from_ref, reason = "the lock is what makes it unique")]
    pub(crate) unsafe fn held(&self) -> &mut T {
        // SAFETY: the caller holds the lock, which excludes every other reference to the value.
        unsafe { &mut *self.value.get() }
    }
}
