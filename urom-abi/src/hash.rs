//! A hash for constants.

/// A 64-bit hash state. It takes eight bytes a step, so a large description stays within the
/// compiler's limit for constants. It detects mistakes, not attacks.
#[derive(Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) const fn new() -> Hash {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) const fn number(self, number: u64) -> Hash {
        // An odd factor is invertible; the shift moves the high bits down for the next factor.
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Hash(mixed ^ (mixed >> 29))
    }

    pub(crate) const fn bytes(mut self, bytes: &[u8]) -> Hash {
        let mut rest = bytes;
        self = self.number(rest.len() as u64);
        while let Some((word, behind)) = rest.split_first_chunk() {
            self = self.number(u64::from_le_bytes(*word));
            rest = behind;
        }
        let mut last = [0; 8];
        let (target, _) = last.split_at_mut(rest.len());
        target.copy_from_slice(rest);
        self.number(u64::from_le_bytes(last))
    }

    pub(crate) const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Hash;
    use std::collections::HashSet;

    fn of(texts: &[&str]) -> u64 {
        texts.iter().fold(Hash::new(), |hash, text| hash.bytes(text.as_bytes())).value()
    }

    #[test]
    fn order_and_borders_count() {
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
        assert_ne!(of(&["a"]), of(&["a", ""]));
        assert_ne!(of(&["a"]), of(&["a\0"]));
        assert_ne!(of(&["12345678"]), of(&["12345678\0"]));
    }

    #[test]
    fn names_that_differ_by_one_character_or_number_differ() {
        let count = if cfg!(miri) { 100 } else { 100_000 };
        let names = (0..count).map(|number| of(&[&format!("a_field_{number}"), "data"]));
        assert_eq!(names.collect::<HashSet<_>>().len(), count);
        let numbers = (0..count as u64).map(|number| Hash::new().number(number).number(8).value());
        assert_eq!(numbers.collect::<HashSet<_>>().len(), count);
    }

    #[test]
    fn the_hash_never_changes() {
        assert_eq!(of(&["worker_graph", "Loopback"]), 1_316_940_764_717_881_320);
    }
}
