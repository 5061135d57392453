//! [`Watch`]: wakes a future when a word of shared memory meets its condition. While there are
//! watches, one thread of the program or plugin sleeps on the words of all futures. It reads a word
//! only under its lock, so the word may be freed after its watch. During the sleep, only the kernel
//! uses the words.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

use rustix::thread::futex::Wait;
use urom_abi::sync_event::Condition;
use urom_os::fork::{Maker, PerProcess};
use urom_os::signals;

use crate::error::{Error, Result};
use crate::futex::{self, MOST_WATCHED};
use crate::inner::check;
use crate::view::View;
use crate::word::{FIRST_PAUSE, LONGEST_PAUSE, Word};

/// Time the idle thread stays before it ends.
const LINGER: Duration = Duration::from_secs(1);

/// Keeps a word's memory allocated.
pub(crate) type MemoryOwner = Arc<dyn Send + Sync>;

static WATCHER: PerProcess<Watcher> = PerProcess::new(|| Watcher::new(true));

struct Watcher {
    state: Mutex<WatchList>,
    /// Changes when the thread must check the list again.
    news: AtomicU32,
    sees_words: bool,
}

struct WatchList {
    entries: BTreeMap<u64, WatchedWord>,
    last: u64,
    is_running: bool,
}

struct WatchedWord {
    word: NonNull<u64>,
    condition: Condition,
    /// `None` after it was called, until the future waits again.
    waker: Option<Waker>,
    group: u64,
    _owner: Option<MemoryOwner>,
}

// SAFETY: any thread may load the word while the entry exists.
unsafe impl Send for WatchedWord {}

/// A watch of a word for a future; it ends with this value.
#[doc(hidden)]
#[derive(Debug)]
pub struct Watch {
    maker: Maker,
    watcher: &'static Watcher,
    number: u64,
}

impl Watch {
    /// Watches a word: when it meets the condition, the watcher's thread calls `waker` once.
    /// [`end_group`](Self::end_group) ends all watches of a `group`.
    ///
    /// # Safety
    /// The word stays readable until this watch is dropped, or its group has ended.
    ///
    /// # Errors
    /// `OPERATING_SYSTEM` when the watcher's thread cannot be started.
    pub unsafe fn new(
        word: Word<'_>,
        condition: Condition,
        waker: &Waker,
        group: u64,
    ) -> Result<Watch> {
        let waker = Some(waker.clone());
        WATCHER.watch(WatchedWord { word: word.address(), condition, waker, group, _owner: None })
    }

    /// As [`new`](Self::new), for a word whose owner keeps it.
    ///
    /// # Safety
    /// The word stays readable as long as the owner.
    pub(crate) unsafe fn owned(
        word: Word<'_>,
        condition: Condition,
        waker: &Waker,
        owner: MemoryOwner,
    ) -> Result<Watch> {
        let (word, waker) = (word.address(), Some(waker.clone()));
        WATCHER.watch(WatchedWord { word, condition, waker, group: 0, _owner: Some(owner) })
    }

    /// Polls a wait: returns the number that meets the condition, or stores the watch of `begin`.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn poll(
        watch: &mut Option<Watch>,
        word: Word<'_>,
        condition: Condition,
        waker: &Waker,
        begin: impl FnOnce() -> Result<Watch>,
    ) -> Poll<Result<u64>> {
        let seen = word.load();
        if condition.is_met(seen) {
            *watch = None;
            return Poll::Ready(Ok(seen));
        }
        // The watcher checks a new word before it sleeps, so it finds any later change.
        match watch {
            Some(watch) => watch.renew(waker)?,
            None => *watch = Some(begin()?),
        }
        Poll::Pending
    }

    /// Watches the word again, for this waker.
    ///
    /// # Errors
    /// As [`new`](Self::new).
    pub fn renew(&self, waker: &Waker) -> Result<()> {
        check(self.maker)?;
        let mut state = self.watcher.state();
        let Some(entry) = state.entries.get_mut(&self.number) else { return Ok(()) };
        if entry.waker.as_ref().is_some_and(|known| known.will_wake(waker)) {
            return Ok(());
        }
        let earlier = entry.waker.replace(waker.clone());
        if earlier.is_none() {
            self.watcher.run_with(&mut state)?;
        }
        drop(state);
        // Not under the lock: it may drop the waker's last reference.
        drop(earlier);
        self.watcher.announce();
        Ok(())
    }

    /// Returns a new group number. 0 is not a group.
    #[must_use]
    pub fn new_group() -> u64 {
        static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends all watches of a group, without calling their wakers. Its words may then be freed.
    pub fn end_group(group: u64) {
        let mut state = WATCHER.state();
        let all = std::mem::take(&mut state.entries);
        let (ended, left) = all.into_iter().partition(|(_, entry)| entry.group == group);
        state.entries = left;
        drop(state);
        let ended: BTreeMap<u64, WatchedWord> = ended;
        // Not under the lock: it may drop a waker's last reference.
        drop(ended);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            // The parent's thread may have held the lock at the fork.
            return;
        }
        let entry = self.watcher.state().entries.remove(&self.number);
        // Not under the lock: it may drop the last reference to a waker and to memory.
        drop(entry);
    }
}

impl Watcher {
    const fn new(sees_words: bool) -> Watcher {
        let state = WatchList { entries: BTreeMap::new(), last: 0, is_running: false };
        Watcher { state: Mutex::new(state), news: AtomicU32::new(0), sees_words }
    }

    fn state(&self) -> MutexGuard<'_, WatchList> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn announce(&self) {
        self.news.fetch_add(1, Ordering::Release);
        futex::wake_own(&self.news);
    }

    fn watch(&'static self, entry: WatchedWord) -> Result<Watch> {
        let mut state = self.state();
        if let Err(error) = self.run_with(&mut state) {
            drop(state);
            drop(entry);
            return Err(error);
        }
        state.last += 1;
        let number = state.last;
        state.entries.insert(number, entry);
        drop(state);
        self.announce();
        Ok(Watch { maker: Maker::here(), watcher: self, number })
    }

    fn run_with(&'static self, state: &mut WatchList) -> Result<()> {
        if !state.is_running {
            let system =
                |error| Error::system("starting the thread that waits for counters", error);
            signals::spawn("urom-sync", || self.run()).map_err(system)?;
            state.is_running = true;
        }
        Ok(())
    }

    fn run(&self) {
        let mut pause = FIRST_PAUSE;
        loop {
            let news = self.news.load(Ordering::Acquire);
            let (ready, watched) = self.look(news);
            for waker in ready {
                // The panic hook has reported the waker's panic.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
            // The first entry is `news`.
            if watched.len() > 1 {
                pause = match self.sleep(&watched, news, pause) {
                    true => (pause * 2).min(LONGEST_PAUSE),
                    false => FIRST_PAUSE,
                };
            } else if futex::wait_own(&self.news, news, LINGER) {
                let mut state = self.state();
                if state.entries.values().all(|entry| entry.waker.is_none()) {
                    state.is_running = false;
                    return;
                }
            }
        }
    }

    fn look(&self, news: u32) -> (Vec<Waker>, Vec<Wait>) {
        let (mut ready, mut watched) = (Vec::new(), vec![futex::watched_own(&self.news, news)]);
        for entry in self.state().entries.values_mut().filter(|entry| entry.waker.is_some()) {
            // SAFETY: the word stays readable until the entry is removed, which takes the lock.
            let view = unsafe { View::from_raw(entry.word.as_ptr().cast(), 8, false) };
            // SAFETY: the view covers that word.
            let seen = unsafe { Word::new(view, entry.word) }.load();
            match entry.condition.is_met(seen) {
                true => ready.extend(entry.waker.take()),
                false => watched.push(futex::watched(entry.word.as_ptr(), seen)),
            }
        }
        (ready, watched)
    }

    fn sleep(&self, watched: &[Wait], news: u32, pause: Duration) -> bool {
        // The thread checks the words beyond this limit when it wakes.
        let first = &watched[..watched.len().min(MOST_WATCHED)];
        let slept = if self.sees_words { futex::wait_many(first, pause) } else { None };
        slept.unwrap_or_else(|| futex::wait_own(&self.news, news, pause))
    }
}

impl std::fmt::Debug for Watcher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Watcher")
    }
}

#[cfg(test)]
// Miri lacks `futex_waitv`.
#[cfg(not(miri))]
mod tests;
