//! An input that is a program: bytes that say what to do, and bytes to do it with. It can be read
//! whatever it is.

/// What is left of a program.
pub struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    pub fn new(input: &'a [u8]) -> Program<'a> {
        Program(input)
    }

    /// The next byte; `None` at the end.
    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    /// The next byte, and 0 behind the end.
    pub fn small(&mut self) -> u8 {
        self.byte().unwrap_or(0)
    }

    /// A length in one byte, and as many bytes as there are of it.
    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.small()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }
}
