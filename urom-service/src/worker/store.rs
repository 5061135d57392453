//! The byte strings that look-ups answer with: plugin addresses, memory handles and keys.
//!
//! A plugin may keep the pointer that a look-up gave it, and nothing tells a plugin that a domain
//! is over. So a string that was stored stays until the worker is done with its plugins. Equal
//! strings are stored once: the same domains, started over and over, take no more memory.

use std::collections::HashSet;
use std::sync::Arc;

/// How many bytes are kept, with [`OVERHEAD`] for each string: 256 MiB.
pub(crate) const CAPACITY: usize = 256 << 20;

/// What a string costs besides its bytes, about.
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

    /// The stored string that equals this one. Ask [`has_room`](Store::has_room) before.
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
