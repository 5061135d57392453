//! Sentences with numbers in them, made while a protocol is compiled: what the compiler says of messages that are too big.

/// A text under construction, usable in constants. What does not fit is left out.
#[derive(Clone, Copy, Debug)]
pub struct Sentence {
    bytes: [u8; Sentence::MOST],
    len: usize,
}

impl Sentence {
    const MOST: usize = 512;

    const fn new() -> Sentence {
        Sentence { bytes: [0; Sentence::MOST], len: 0 }
    }

    const fn text(mut self, text: &str) -> Sentence {
        let bytes = text.as_bytes();
        let fits = bytes.len() <= Sentence::MOST - self.len;
        let mut i = 0;
        while fits && i < bytes.len() {
            self.bytes[self.len + i] = bytes[i];
            i += 1;
        }
        self.len += i;
        self
    }

    const fn number(self, number: usize) -> Sentence {
        let mut digits = [0; 20];
        let (mut at, mut rest) = (digits.len(), number);
        while at == digits.len() || rest > 0 {
            at -= 1;
            digits[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
        }
        match std::str::from_utf8(digits.split_at(at).1) {
            Ok(digits) => self.text(digits),
            Err(_) => self,
        }
    }

    /// The text.
    pub const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

/// What is said of messages that are too big: the largest of the `variants`, each with its size within the union, makes every
/// message take `len` bytes behind a header of `header`.
pub const fn too_big(variants: &[(&str, usize)], len: usize, header: usize, advice: &str) -> Sentence {
    let (mut largest, mut i) = (("", 0), 0);
    while i < variants.len() {
        if variants[i].1 >= largest.1 {
            largest = variants[i];
        }
        i += 1;
    }
    variant_too_big(largest.0, len, header, advice)
}

/// The same of one variant, which takes `len` bytes with its payloads.
pub const fn variant_too_big(variant: &str, len: usize, header: usize, advice: &str) -> Sentence {
    let found = Sentence::new().text("`").text(variant).text("` takes ").number(len).text(" bytes");
    found.text(" and its header ").number(header).text(", but ").text(advice)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_variant_is_named_with_its_size() {
        let text = too_big(&[("Small", 8), ("Large", 4072), ("Other", 9)], 4080, 24, "4096 is the most");
        assert_eq!(text.as_str(), "`Large` takes 4080 bytes and its header 24, but 4096 is the most");
    }

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 7, 10, usize::MAX] {
            assert_eq!(Sentence::new().number(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn what_does_not_fit_is_left_out() {
        let long = "x".repeat(Sentence::MOST);
        assert_eq!(Sentence::new().text("a").text(&long).text("b").as_str(), "ab");
    }
}
