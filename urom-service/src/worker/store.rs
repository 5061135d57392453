//! The byte strings for look-ups: plugin addresses, memory handles and keys.
//!
//! A plugin may keep a look-up's pointer, and is not notified of a domain's end. So stored strings
//! live until the worker has closed its plugins. Equal strings are stored once, so restarted
//! domains take no more memory.

use std::collections::HashSet;
use std::sync::Arc;

/// Limit in bytes, with [`OVERHEAD`] for each string: 256 MiB.
pub(crate) const CAPACITY: usize = 256 << 20;

/// Approximate overhead of a string in bytes.
const OVERHEAD: usize = 64;

pub(crate) type Stored = Arc<[u8]>;

#[derive(Debug)]
pub(crate) struct Store {
    strings: HashSet<Stored>,
    used: usize,
    capacity: usize,
}

impl Store {
    pub(crate) fn new(capacity: usize) -> Store {
        Store { strings: HashSet::new(), used: 0, capacity }
    }

    pub(crate) fn has_room<'a>(&self, strings: impl Iterator<Item = &'a [u8]>) -> bool {
        let mut seen = HashSet::new();
        let mut left = self.capacity.saturating_sub(self.used);
        for string in strings {
            if self.strings.contains(string) || !seen.insert(string) {
                continue;
            }
            match left.checked_sub(string.len() + OVERHEAD) {
                Some(less) => left = less,
                None => return false,
            }
        }
        true
    }

    /// Returns the stored copy of this string. Check [`has_room`](Store::has_room) first.
    pub(crate) fn keep(&mut self, string: &[u8]) -> Stored {
        if let Some(there) = self.strings.get(string) {
            return Arc::clone(there);
        }
        self.used += string.len() + OVERHEAD;
        let new: Stored = string.into();
        self.strings.insert(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one_and_stay() {
        let mut store = Store::new(1000);
        let place = store.keep(b"a key").as_ptr();
        for _ in 0..1000 {
            assert!(store.has_room([&b"a key"[..], b"a key"].into_iter()));
            assert_eq!(store.keep(b"a key").as_ptr(), place);
        }
        assert_ne!(store.keep(b"another").as_ptr(), place);
        assert_eq!(store.used, b"a key".len() + b"another".len() + 2 * OVERHEAD);
    }

    #[test]
    fn what_is_too_much_together_is_found_before_any_of_it_is_stored() {
        let mut store = Store::new(2 * (OVERHEAD + 10));
        let (a, b, c) = ([1; 10], [2; 10], [3; 10]);
        assert!(!store.has_room([&a[..], &b, &c].into_iter()));
        assert!(store.has_room([&a[..], &b, &a].into_iter()));
        store.keep(&a);
        assert!(store.has_room([&a[..], &b].into_iter()));
        assert!(!store.has_room([&b[..], &c].into_iter()));
        assert!(!store.has_room([&[0; 100][..]].into_iter()));
    }
}
