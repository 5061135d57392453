//! Text that is built at compile time.

/// A text under construction, usable in constants. It is truncated at its capacity.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ConstStr {
    bytes: [u8; ConstStr::MOST],
    len: usize,
}

impl ConstStr {
    const MOST: usize = 512;

    pub(crate) const fn new() -> ConstStr {
        ConstStr { bytes: [0; ConstStr::MOST], len: 0 }
    }

    pub(crate) const fn text(mut self, text: &str) -> ConstStr {
        let bytes = text.as_bytes();
        let fits = bytes.len() <= ConstStr::MOST - self.len;
        let mut i = 0;
        while fits && i < bytes.len() {
            self.bytes[self.len + i] = bytes[i];
            i += 1;
        }
        self.len += i;
        self
    }

    pub(crate) const fn number(self, number: usize) -> ConstStr {
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

    pub(crate) const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_all_their_digits() {
        for number in [0, 7, 10, usize::MAX] {
            assert_eq!(ConstStr::new().number(number).as_str(), number.to_string());
        }
    }

    #[test]
    fn text_that_does_not_fit_is_left_out() {
        let long = "x".repeat(ConstStr::MOST);
        assert_eq!(ConstStr::new().text("a").text(&long).text("b").as_str(), "ab");
    }
}
