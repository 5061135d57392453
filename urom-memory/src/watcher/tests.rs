//! Watches that are called, renewed, ended and dropped.

use std::any::Any;
use std::sync::atomic::AtomicU64;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::task::Wake;
use std::time::Instant;

use super::*;

const LIMIT: Duration = Duration::from_secs(10);

static KEPT: Mutex<Vec<&'static (dyn Any + Sync)>> = Mutex::new(Vec::new());

/// Keeps a value until the process ends, for a watcher's thread. Leak checkers find it in the list.
fn kept<T: Any + Sync>(value: T) -> &'static T {
    let value = Box::leak(Box::new(value));
    KEPT.lock().unwrap_or_else(PoisonError::into_inner).push(value);
    value
}

struct Bell(u64, Sender<u64>);

impl Wake for Bell {
    fn wake(self: Arc<Self>) {
        // Fails after the end of the test.
        let _ = self.1.send(self.0);
    }
}

struct Rig {
    watcher: &'static Watcher,
    words: Vec<&'static AtomicU64>,
    bell: Sender<u64>,
    heard: Receiver<u64>,
}

impl Rig {
    fn new(watcher: &'static Watcher, count: usize) -> Rig {
        let (bell, heard) = channel();
        let words = (0..count).map(|_| kept(AtomicU64::new(0))).collect();
        Rig { watcher, words, bell, heard }
    }

    fn waker(&self, number: u64) -> Waker {
        Arc::new(Bell(number, self.bell.clone())).into()
    }

    fn watch(&self, at: usize, condition: Condition) -> Watch {
        let word = NonNull::from(self.words[at]).cast();
        let waker = Some(self.waker(at as u64));
        let entry = WatchedWord { word, condition, waker, group: 7, _owner: None };
        self.watcher.watch(entry).unwrap()
    }

    fn set(&self, at: usize, value: u64) {
        self.words[at].store(value, Ordering::Release);
        futex::wake(self.words[at]);
    }

    fn next(&self) -> u64 {
        self.heard.recv_timeout(LIMIT).unwrap()
    }

    /// Waits until the watcher has checked all entries: it has called the last waker.
    fn has_looked(&self) -> Option<u64> {
        let last = self.words.len() as u64;
        let always = kept(AtomicU64::new(0));
        let entry = WatchedWord {
            word: NonNull::from(always).cast(),
            condition: Condition::equal(0),
            waker: Some(self.waker(last)),
            group: 0,
            _owner: None,
        };
        let _watch = self.watcher.watch(entry).unwrap();
        Some(self.next()).filter(|heard| *heard != last)
    }
}

/// Runs a test with a watcher that sleeps on words, and with another that polls.
fn with_both(test: impl Fn(&'static Watcher)) {
    for sees_words in [true, false] {
        test(kept(Watcher::new(sees_words)));
    }
}

#[test]
fn a_word_that_meets_its_condition_calls_its_waker_once() {
    with_both(|watcher| {
        let rig = Rig::new(watcher, 2);
        let first = rig.watch(0, Condition::greater(1));
        let _second = rig.watch(1, Condition::equal(5));
        rig.set(0, 1);
        assert_eq!(rig.has_looked(), None);
        rig.set(0, 2);
        assert_eq!(rig.next(), 0);
        rig.set(0, 3);
        assert_eq!(rig.has_looked(), None);
        rig.set(1, 5);
        assert_eq!(rig.next(), 1);
        // The condition is already met.
        first.renew(&rig.waker(9)).unwrap();
        assert_eq!(rig.next(), 9);
    });
}

#[test]
fn a_store_that_wakes_nobody_is_found() {
    with_both(|watcher| {
        let rig = Rig::new(watcher, 1);
        for value in 0..5 {
            let _watch = rig.watch(0, Condition::greater(value));
            rig.words[0].store(value + 1, Ordering::Release);
            assert_eq!(rig.next(), 0);
        }
        // The kernel does not compare this half.
        let _watch = rig.watch(0, Condition::greater(u64::from(u32::MAX)));
        rig.words[0].store(5 | 1 << 40, Ordering::Release);
        assert_eq!(rig.next(), 0);
    });
}

#[test]
fn more_words_than_the_kernel_watches_are_all_found() {
    let rig = Rig::new(kept(Watcher::new(true)), 300);
    let watches: Vec<Watch> = (0..300).map(|at| rig.watch(at, Condition::not_equal(0))).collect();
    for at in (0..300).rev() {
        rig.set(at, 1);
        assert_eq!(rig.next(), at as u64);
    }
    drop(watches);
    assert!(rig.watcher.state().entries.is_empty());
}

#[test]
fn a_watch_that_ended_is_not_called_and_its_word_not_read() {
    with_both(|watcher| {
        let rig = Rig::new(watcher, 2);
        let _other = rig.watch(1, Condition::greater(0));
        // Freed right after the watch, while the watcher may sleep on it.
        for value in 0..100 {
            let word = Box::new(AtomicU64::new(value));
            let entry = WatchedWord {
                word: NonNull::from(&*word).cast(),
                condition: Condition::greater(value),
                waker: Some(rig.waker(77)),
                group: 0,
                _owner: None,
            };
            drop(rig.watcher.watch(entry).unwrap());
            drop(word);
        }
        assert_eq!(rig.has_looked(), None);
        drop(rig.watch(0, Condition::greater(0)));
        rig.set(0, 1);
        assert_eq!(rig.has_looked(), None);
    });
}

#[test]
fn the_watches_of_a_group_end_together() {
    let word = AtomicU64::new(0);
    // SAFETY: the word lives as long as this test.
    let view = unsafe { View::from_raw(word.as_ptr().cast(), 8, true) };
    let (group, other) = (Watch::new_group(), Watch::new_group());
    assert!(group != other && group != 0);
    let rig = Rig::new(&WATCHER, 0);
    let watch = |number, group| {
        let word = view.word(0).unwrap();
        // SAFETY: as above.
        unsafe { Watch::new(word, Condition::greater(0), &rig.waker(number), group) }.unwrap()
    };
    let ended = [watch(1, group), watch(2, group)];
    let _stays = watch(3, other);
    Watch::end_group(group);
    view.word(0).unwrap().set(1).unwrap();
    assert_eq!(rig.next(), 3);
    ended[0].renew(&rig.waker(4)).unwrap();
    drop(ended);
}

#[test]
fn a_waker_that_panics_keeps_nobody_from_being_called() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("as a test wants");
        }
    }
    let rig = Rig::new(kept(Watcher::new(true)), 2);
    let watch = rig.watch(0, Condition::greater(0));
    watch.renew(&Waker::from(Arc::new(Panics))).unwrap();
    let _other = rig.watch(1, Condition::greater(0));
    rig.set(0, 1);
    rig.set(1, 1);
    assert_eq!(rig.next(), 1);
}

#[test]
fn the_thread_ends_when_nobody_waits_and_starts_again() {
    let rig = Rig::new(kept(Watcher::new(true)), 1);
    let watch = rig.watch(0, Condition::greater(0));
    rig.set(0, 1);
    assert_eq!(rig.next(), 0);
    let start = Instant::now();
    while rig.watcher.state().is_running {
        std::thread::yield_now();
        assert!(start.elapsed() < LIMIT);
    }
    // The waker was called, so the watch was idle.
    watch.renew(&rig.waker(5)).unwrap();
    assert_eq!(rig.next(), 5);
}
