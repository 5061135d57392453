//! The byte strings for look-ups: plugin addresses, memory handles and keys. A plugin may keep a
//! look-up's pointer after a domain's end, so strings live until the worker has closed its plugins.
//! Equal strings are stored once, so restarted domains take no more memory.

use std::collections::HashSet;
use std::sync::Arc;

/// Limit in bytes, with [`OVERHEAD`] for each string: 256 MiB.
pub(crate) const CAPACITY: usize = 256 << 20;

/// Approximate overhead of a string in bytes.
const OVERHEAD: usize = 64;

pub(crate) type StoredString = Arc<[u8]>;

#[derive(Debug)]
pub(crate) struct StringStore {
    strings: HashSet<StoredString>,
    used: usize,
    capacity: usize,
}

impl StringStore {
    pub(crate) fn new(capacity: usize) -> StringStore {
        StringStore { strings: HashSet::new(), used: 0, capacity }
    }

    pub(crate) fn has_capacity<'a>(&self, strings: impl Iterator<Item = &'a [u8]>) -> bool {
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

    /// Returns the stored copy of this string. Check [`has_capacity`](Self::has_capacity) first.
    pub(crate) fn keep(&mut self, string: &[u8]) -> StoredString {
        if let Some(there) = self.strings.get(string) {
            return Arc::clone(there);
        }
        self.used += string.len() + OVERHEAD;
        let new: StoredString = string.into();
        self.strings.insert(Arc::clone(&new));
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_strings_are_one_and_stay() {
        let mut store = StringStore::new(1000);
        let address = store.keep(b"a key").as_ptr();
        for _ in 0..1000 {
            assert!(store.has_capacity([&b"a key"[..], b"a key"].into_iter()));
            assert_eq!(store.keep(b"a key").as_ptr(), address);
        }
        assert_ne!(store.keep(b"another").as_ptr(), address);
        assert_eq!(store.used, b"a key".len() + b"another".len() + 2 * OVERHEAD);
    }

    #[test]
    fn strings_beyond_the_capacity_are_detected_before_any_is_stored() {
        let mut store = StringStore::new(2 * (OVERHEAD + 10));
        let (a, b, c) = ([1; 10], [2; 10], [3; 10]);
        assert!(!store.has_capacity([&a[..], &b, &c].into_iter()));
        assert!(store.has_capacity([&a[..], &b, &a].into_iter()));
        store.keep(&a);
        assert!(store.has_capacity([&a[..], &b].into_iter()));
        assert!(!store.has_capacity([&b[..], &c].into_iter()));
        assert!(!store.has_capacity([&[0; 100][..]].into_iter()));
    }
}
