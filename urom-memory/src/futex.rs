//! Futexes: sleeps until a word of shared memory changes, and wakes threads of any process. The
//! kernel's futexes have 32 bits, so they use the low half of a 64-bit word.

use std::sync::atomic::{AtomicU32, AtomicU64};
use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::futex::{self, Flags, Wait, WaitFlags, WaitPtr, WaitvFlags};
use rustix::time::{ClockId, Timespec};
use urom_os::clock;

pub(crate) const MOST_WATCHED: usize = 128;

/// Returns the half that the kernel compares. Only the kernel uses it by this reference.
fn low(word: &AtomicU64) -> &AtomicU32 {
    let low = word.as_ptr().cast::<u32>();
    // SAFETY: the first half of a word has the same lifetime and is aligned; it is the low half,
    // because `urom-abi` checks for little-endian. Only system calls use its address.
    unsafe { AtomicU32::from_ptr(low) }
}

pub(crate) fn wake(word: &AtomicU64) {
    // Under Miri tests do not sleep on words, and rustix's pointer type differs from Miri's.
    if cfg!(miri) {
        return;
    }
    // It fails for unmapped memory, which cannot have sleeping threads.
    let _ = futex::wake(low(word), Flags::empty(), i32::MAX as u32);
}

/// Sleeps until a wake, only while the word is `seen`. Returns whether `longest` has passed.
pub(crate) fn wait(word: &AtomicU64, seen: u64, longest: Duration) -> bool {
    let timeout = timespec(longest);
    match futex::wait(low(word), Flags::empty(), seen as u32, Some(&timeout)) {
        Ok(()) | Err(Errno::AGAIN | Errno::INTR) => false,
        Err(Errno::TIMEDOUT) => true,
        // The kernel cannot watch such memory.
        Err(_) => {
            std::thread::sleep(longest);
            true
        }
    }
}

pub(crate) fn wake_own(number: &AtomicU32) {
    let _ = futex::wake(number, Flags::PRIVATE, 1);
}

/// As [`wait`], for a number private to this process.
pub(crate) fn wait_own(number: &AtomicU32, seen: u32, longest: Duration) -> bool {
    let timeout = timespec(longest);
    futex::wait(number, Flags::PRIVATE, seen, Some(&timeout)) == Err(Errno::TIMEDOUT)
}

/// Makes an entry for [`wait_many`].
pub(crate) fn watched(word: *const u64, seen: u64) -> Wait {
    entry(word.cast(), seen as u32, WaitFlags::SIZE_U32)
}

pub(crate) fn watched_own(number: &AtomicU32, seen: u32) -> Wait {
    entry(number.as_ptr(), seen, WaitFlags::SIZE_U32 | WaitFlags::PRIVATE)
}

fn entry(address: *const u32, seen: u32, flags: WaitFlags) -> Wait {
    let mut entry = Wait::new();
    entry.uaddr = WaitPtr::new(address.cast_mut().cast());
    entry.val = seen.into();
    entry.flags = flags;
    entry
}

/// As [`wait`], on up to [`MOST_WATCHED`] words. Only the kernel reads the words, and it fails for
/// unmapped words. Returns `None` when it cannot sleep on these words.
pub(crate) fn wait_many(words: &[Wait], longest: Duration) -> Option<bool> {
    let until = timespec(clock::of(libc::CLOCK_MONOTONIC)).checked_add(timespec(longest))?;
    match futex::waitv(words, WaitvFlags::empty(), Some(&until), ClockId::Monotonic) {
        Ok(_) | Err(Errno::AGAIN | Errno::INTR) => Some(false),
        Err(Errno::TIMEDOUT) => Some(true),
        // Kernels before 5.16 lack this call.
        Err(_) => None,
    }
}

fn timespec(time: Duration) -> Timespec {
    Timespec::try_from(time).unwrap_or(Timespec { tv_sec: i64::MAX, tv_nsec: 0 })
}

#[cfg(test)]
// Miri lacks `futex_waitv`.
#[cfg(not(miri))]
mod tests {
    use std::sync::atomic::Ordering;
    use std::thread;

    use super::*;

    const SHORT: Duration = Duration::from_millis(1);
    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn a_sleep_ends_with_its_time_or_when_the_word_is_another() {
        let word = AtomicU64::new(7);
        assert!(wait(&word, 7, SHORT));
        assert!(!wait(&word, 8, LONG));
        // Only the low half is compared.
        assert!(wait(&word, 7 | 1 << 32, SHORT));
        assert_eq!(wait_many(&[watched(word.as_ptr(), 7)], SHORT), Some(true));
        assert_eq!(wait_many(&[watched(word.as_ptr(), 6)], LONG), Some(false));
    }

    #[test]
    fn one_wake_ends_all_sleeps() {
        let (word, own) = (AtomicU64::new(0), AtomicU32::new(0));
        thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    while word.load(Ordering::Acquire) == 0 {
                        wait(&word, 0, LONG);
                    }
                });
            }
            scope.spawn(|| {
                let all = [watched_own(&own, 0), watched(word.as_ptr(), 0)];
                while word.load(Ordering::Acquire) == 0 {
                    assert_eq!(wait_many(&all, LONG), Some(false));
                }
            });
            word.store(1, Ordering::Release);
            wake(&word);
        });
    }

    #[test]
    fn words_that_are_not_there_are_not_slept_on() {
        let nowhere = std::ptr::without_provenance::<u64>(4096);
        assert_eq!(wait_many(&[watched(nowhere, 0)], LONG), None);
        let number = AtomicU32::new(0);
        let many = vec![watched_own(&number, 0); MOST_WATCHED + 1];
        assert_eq!(wait_many(&many, LONG), None);
        assert_eq!(wait_many(&many[1..], SHORT), Some(true));
    }
}
