//! [`Watch`]: wakes a future when a word of shared memory meets its condition.
//!
//! One thread of the program, or of the plugin, sleeps on all words that futures wait for. It
//! starts with the first of them, and ends when there was none for a while. It reads a word under
//! its lock only, so a word need not stay when its watch has ended. While it sleeps, the kernel
//! alone has the words.

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::thread;
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

/// How long the thread stays when nobody waits.
const LINGER: Duration = Duration::from_secs(1);

/// What keeps a word where it is.
pub(crate) type Owner = Arc<dyn Send + Sync>;

static WATCHER: PerProcess<Watcher> = PerProcess::new(|| Watcher::new(true));

struct Watcher {
    state: Mutex<WatchList>,
    /// Changes when the thread has to look again.
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
    /// Nothing once it was called, until its future waits again.
    waker: Option<Waker>,
    group: u64,
    _owner: Option<Owner>,
}

// SAFETY: the word is one that any thread may load, for as long as there is an entry.
unsafe impl Send for WatchedWord {}

/// A word that is watched for a future, until this is dropped.
#[doc(hidden)]
#[derive(Debug)]
pub struct Watch {
    maker: Maker,
    watcher: &'static Watcher,
    number: u64,
}

impl Watch {
    /// Watches a word: `waker` is called when it meets the condition, once, on the watcher's
    /// thread. A `group` is one that [`end_group`](Self::end_group) ends.
    ///
    /// # Safety
    /// The word stays readable until this is dropped, or its group was ended.
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

    /// As [`new`](Self::new), for a word that its owner keeps.
    ///
    /// # Safety
    /// The word stays readable as long as the owner.
    pub(crate) unsafe fn owned(
        word: Word<'_>,
        condition: Condition,
        waker: &Waker,
        owner: Owner,
    ) -> Result<Watch> {
        let (word, waker) = (word.address(), Some(waker.clone()));
        WATCHER.watch(WatchedWord { word, condition, waker, group: 0, _owner: Some(owner) })
    }

    /// Polls a wait for a word: the number that meets the condition, or a watch that `begin` makes.
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
        // The watcher's first look finds a number that changes from now on.
        match watch {
            Some(watch) => watch.renew(waker)?,
            None => *watch = Some(begin()?),
        }
        Poll::Pending
    }

    /// Watches again, for this waker.
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
        // Not under the lock: it may be the last use of a waker.
        drop(earlier);
        self.watcher.announce();
        Ok(())
    }

    /// A number for the watches of one owner of memory. 0 is no group's.
    #[must_use]
    pub fn new_group() -> u64 {
        static LAST: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        LAST.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Ends all watches of a group, whose words may go away then. Their wakers are not called any
    /// more.
    pub fn end_group(group: u64) {
        let mut state = WATCHER.state();
        let all = std::mem::take(&mut state.entries);
        let (ended, left) = all.into_iter().partition(|(_, entry)| entry.group == group);
        state.entries = left;
        drop(state);
        let ended: BTreeMap<u64, WatchedWord> = ended;
        // Not under the lock: it may be the last use of a waker.
        drop(ended);
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        if !self.maker.is_here() {
            // The parent's thread may have had the lock at the fork.
            return;
        }
        let entry = self.watcher.state().entries.remove(&self.number);
        // Not under the lock: it may be the last use of a waker and of memory.
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
            let thread = thread::Builder::new().name("urom-sync".to_owned());
            signals::blocked(|| thread.spawn(|| self.run())).map_err(|error| {
                Error::system("starting the thread that waits for counters", error)
            })?;
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
                // A panic was reported, and is the waker's own.
                let _ = catch_unwind(AssertUnwindSafe(|| waker.wake()));
            }
            // The first is the news.
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
            // SAFETY: it is that word.
            let seen = unsafe { Word::new(view, entry.word) }.load();
            match entry.condition.is_met(seen) {
                true => ready.extend(entry.waker.take()),
                false => watched.push(futex::watched(entry.word.as_ptr(), seen)),
            }
        }
        (ready, watched)
    }

    fn sleep(&self, watched: &[Wait], news: u32, pause: Duration) -> bool {
        // The others are looked at when it wakes.
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
// Miri has no `futex_waitv`.
#[cfg(not(miri))]
mod tests;
