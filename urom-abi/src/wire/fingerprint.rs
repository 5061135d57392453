//! One number for a protocol's names and layouts, so that two builds can tell whether they mean the same bytes.

/// A hash under construction (FNV-1a, 64 bits), usable in constants.
#[derive(Clone, Copy, Debug)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Nothing hashed yet.
    #[expect(clippy::new_without_default, reason = "used in constants, where Default cannot be")]
    pub const fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    const fn byte(self, byte: u8) -> Fingerprint {
        Fingerprint((self.0 ^ byte as u64).wrapping_mul(0x0100_0000_01b3))
    }

    /// With a number.
    pub const fn number(mut self, number: u64) -> Fingerprint {
        let bytes = number.to_le_bytes();
        let mut i = 0;
        while i < bytes.len() {
            self = self.byte(bytes[i]);
            i += 1;
        }
        self
    }

    /// With a name and its length, so that `("ab", "c")` and `("a", "bc")` differ.
    pub const fn text(mut self, text: &str) -> Fingerprint {
        let bytes = text.as_bytes();
        let mut i = 0;
        while i < bytes.len() {
            self = self.byte(bytes[i]);
            i += 1;
        }
        self.number(bytes.len() as u64)
    }

    /// The number.
    pub const fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::Fingerprint;

    #[test]
    fn the_hash_is_fnv_1a() {
        // The published test vector for "a".
        assert_eq!(Fingerprint::new().byte(b'a').value(), 0xaf63_dc4c_8601_ec8c);
    }

    #[test]
    fn order_and_borders_count() {
        let of = |texts: &[&str]| texts.iter().fold(Fingerprint::new(), |hash, text| hash.text(text)).value();
        assert_ne!(of(&["ab", "c"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "b"]), of(&["b", "a"]));
    }
}
