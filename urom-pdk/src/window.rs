//! Operations in flight, by their keys.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::{DocaError, Result, ensure};

/// Operations in flight, by increasing keys: numbers, or pairs such as (call, step).
///
/// One side [begins](Self::begin), [edits](Self::edit) and [finishes](Self::finish) an operation's
/// value. The other side [takes](Self::take) it; a dropped `take` discards the value. Mailboxes
/// [`put`](Self::put) a finished value, before or after the `take`. [`ordered`](Self::ordered)
/// windows return values in key order: each waits for all before it. The number of operations is
/// limited. A full window has made all its allocations. It stays on the worker's thread.
///
/// ```
/// use urom_pdk::Window;
/// # futures_util::FutureExt::now_or_never(async {
///
/// let window = Window::<u32, String>::ordered(64);
/// window.begin(1, "one".to_owned())?;
/// window.begin(2, "two".to_owned())?;
/// window.edit(2, |value| value.push('!'));
/// window.finish(2);
/// window.finish(1);
/// assert_eq!(window.take(1).await, "one");
/// assert_eq!(window.take(2).await, "two!");
///
/// let mailbox = Window::<(u32, u32), &str>::unordered(64);
/// mailbox.put((7, 0), "early")?;
/// assert_eq!(mailbox.take((7, 0)).await, "early");
/// # Ok::<(), urom_pdk::Error>(()) }).unwrap().unwrap();
/// ```
pub struct Window<K, V> {
    state: RefCell<WindowState<K, V>>,
    most: usize,
    is_ordered: bool,
}

struct WindowState<K, V> {
    entries: VecDeque<WindowEntry<K, V>>,
    /// In an ordered window: the number of finished entries at the front.
    released: usize,
    capacity_wakers: Vec<Waker>,
}

struct WindowEntry<K, V> {
    key: K,
    /// `None` while a `take` waits for a `put`.
    value: Option<V>,
    is_finished: bool,
    is_cancelled: bool,
    /// Whether a polled `take` is active.
    is_awaited: bool,
    waker: Option<Waker>,
}

impl<K: Ord + Copy + fmt::Debug, V> Window<K, V> {
    /// Creates a window of up to `most` operations whose values are taken in key order.
    pub fn ordered(most: usize) -> Window<K, V> {
        Window::new(most, true)
    }

    /// Creates a window of up to `most` operations whose values are taken in any order.
    pub fn unordered(most: usize) -> Window<K, V> {
        Window::new(most, false)
    }

    fn new(most: usize, is_ordered: bool) -> Window<K, V> {
        let (entries, capacity_wakers) = (VecDeque::new(), Vec::new());
        let state = RefCell::new(WindowState { entries, released: 0, capacity_wakers });
        Window { state, most, is_ordered }
    }

    /// Begins an operation.
    ///
    /// # Errors
    /// `FULL` at the limit, `ALREADY_EXIST` for a key in the window.
    pub fn begin(&self, key: K, value: V) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let index = state.entries.partition_point(|entry| entry.key < key);
        let is_new = state.entries.get(index).is_none_or(|entry| entry.key != key);
        ensure!(is_new, DocaError::ALREADY_EXIST, "operation {key:?} is in flight already");
        let most = self.most;
        ensure!(
            state.entries.len() < most,
            DocaError::FULL,
            "{most} operations are in flight, the most of this window"
        );
        state.insert(index, key, Some(value));
        Ok(())
    }

    /// Waits until the window has capacity for another operation.
    pub async fn free_slot(&self) {
        poll_fn(|cx| {
            let mut state = self.state.borrow_mut();
            if state.entries.len() < self.most {
                return Poll::Ready(());
            }
            if !state.capacity_wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
                state.capacity_wakers.push(cx.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }

    /// Changes an unfinished operation's value, if any. `change` must not use the window.
    pub fn edit<T>(&self, key: K, change: impl FnOnce(&mut V) -> T) -> Option<T> {
        let mut state = self.state.borrow_mut();
        let index = state.find(key)?;
        let entry = state.entries.get_mut(index).filter(|entry| !entry.is_finished)?;
        entry.value.as_mut().map(change)
    }

    /// Returns the keys of every [`take`](Self::take) that waits for a [`put`](Self::put).
    pub fn waiting(&self) -> Vec<K> {
        let state = self.state.borrow();
        state.entries.iter().filter(|entry| entry.value.is_none()).map(|entry| entry.key).collect()
    }

    /// Drops finished values of these keys, unless awaited. A value's drop must not use the window.
    pub fn discard(&self, is_meant: impl Fn(K) -> bool) {
        let mut state = self.state.borrow_mut();
        for index in (0..state.entries.len()).rev() {
            let entry = &state.entries[index];
            if entry.is_finished && !entry.is_awaited && is_meant(entry.key) {
                state.remove(index);
            }
        }
    }

    /// Finishes an operation. Returns false unless it is unfinished.
    pub fn finish(&self, key: K) -> bool {
        let mut state = self.state.borrow_mut();
        let index = state.find(key).filter(|index| !state.entries[*index].is_finished);
        let Some(index) = index else { return false };
        state.entries[index].is_finished = true;
        if self.is_ordered {
            state.release();
        } else {
            state.give(index);
        }
        true
    }

    /// Finishes every operation, after `change` of each value that was not yet available to
    /// [`take`](Self::take). `change` must not use the window.
    pub fn finish_all(&self, mut change: impl FnMut(&mut V)) {
        let mut state = self.state.borrow_mut();
        for index in (0..state.entries.len()).rev() {
            let held = self.is_ordered && index >= state.released;
            let entry = &mut state.entries[index];
            if let Some(value) = entry.value.as_mut().filter(|_| held || !entry.is_finished) {
                change(value);
                entry.is_finished = true;
                if !self.is_ordered {
                    state.give(index);
                }
            }
        }
        if self.is_ordered {
            state.release();
        }
    }

    /// Stores a finished value for a [`take`](Self::take) that waits or comes later.
    ///
    /// # Errors
    /// As [`begin`](Self::begin). The value is dropped.
    pub fn put(&self, key: K, value: V) -> Result<()> {
        let mut state = self.state.borrow_mut();
        let index = state.find(key).filter(|index| state.entries[*index].value.is_none());
        if let Some(index) = index {
            state.entries[index].value = Some(value);
            drop(state);
        } else {
            drop(state);
            self.begin(key, value)?;
        }
        self.finish(key);
        Ok(())
    }

    /// Waits for the value of an operation, which [`put`](Self::put) may begin later. At most one
    /// `take` waits for a key: a later one replaces it.
    pub fn take(&self, key: K) -> Take<'_, K, V> {
        Take { window: self, key, is_over: false }
    }

    fn poll_take(&self, key: K, cx: &Context<'_>) -> Poll<V> {
        let mut state = self.state.borrow_mut();
        let index = state.entries.partition_point(|entry| entry.key < key);
        if state.entries.get(index).is_none_or(|entry| entry.key != key) {
            state.insert(index, key, None);
        }
        let is_released = !self.is_ordered || index < state.released;
        let entry = &mut state.entries[index];
        entry.is_awaited = true;
        if entry.is_finished && is_released && entry.value.is_some() {
            let value = state.remove(index).and_then(|entry| entry.value);
            return value.map_or(Poll::Pending, Poll::Ready);
        }
        if !entry.waker.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
            entry.waker = Some(cx.waker().clone());
        }
        Poll::Pending
    }

    fn cancel(&self, key: K) {
        let mut state = self.state.borrow_mut();
        let Some(index) = state.find(key) else { return };
        let entry = &mut state.entries[index];
        (entry.is_cancelled, entry.is_awaited, entry.waker) = (true, false, None);
        let is_released = !self.is_ordered || index < state.released;
        let entry = &state.entries[index];
        let removed = if entry.value.is_none() || entry.is_finished && is_released {
            state.remove(index)
        } else {
            None
        };
        if self.is_ordered {
            // Operations behind it may have waited for it.
            state.release();
        }
        // A value's drop may use the window.
        drop(state);
        drop(removed);
    }
}

impl<K: Ord + Copy, V> WindowState<K, V> {
    fn find(&self, key: K) -> Option<usize> {
        self.entries.binary_search_by_key(&key, |entry| entry.key).ok()
    }

    fn insert(&mut self, index: usize, key: K, value: Option<V>) {
        let (is_finished, is_cancelled, is_awaited, waker) = (false, false, false, None);
        let entry = WindowEntry { key, value, is_finished, is_cancelled, is_awaited, waker };
        self.entries.insert(index, entry);
        // Operations behind an earlier key wait for it.
        self.released = self.released.min(index);
    }

    fn remove(&mut self, index: usize) -> Option<WindowEntry<K, V>> {
        let entry = self.entries.remove(index)?;
        self.released -= usize::from(index < self.released);
        self.capacity_wakers.drain(..).for_each(Waker::wake);
        Some(entry)
    }

    fn release(&mut self) {
        while self.entries.get(self.released).is_some_and(|entry| entry.is_finished) {
            let index = self.released;
            self.released += 1;
            self.give(index);
        }
    }

    fn give(&mut self, index: usize) {
        if self.entries[index].is_cancelled {
            self.remove(index);
        } else if let Some(waker) = self.entries[index].waker.take() {
            waker.wake();
        }
    }
}

impl<K, V> fmt::Debug for Window<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entries = self.state.try_borrow().map_or(0, |state| state.entries.len());
        write!(f, "Window({entries} of {})", self.most)
    }
}

/// The future of [`Window::take`].
#[derive(Debug)]
#[must_use = "futures do nothing unless polled"]
pub struct Take<'a, K: Ord + Copy + fmt::Debug, V> {
    window: &'a Window<K, V>,
    key: K,
    is_over: bool,
}

impl<K: Ord + Copy + fmt::Debug + Unpin, V> Future for Take<'_, K, V> {
    type Output = V;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<V> {
        let value = self.window.poll_take(self.key, cx);
        self.is_over = value.is_ready();
        value
    }
}

impl<K: Ord + Copy + fmt::Debug, V> Drop for Take<'_, K, V> {
    fn drop(&mut self) {
        if !self.is_over {
            self.window.cancel(self.key);
        }
    }
}

#[cfg(test)]
mod tests;
