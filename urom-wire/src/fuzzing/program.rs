//! An input as a program: bytes for operations and their data. Any input is valid.

pub struct Program<'a>(&'a [u8]);

impl<'a> Program<'a> {
    pub fn new(input: &'a [u8]) -> Program<'a> {
        Program(input)
    }

    pub fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub fn small(&mut self) -> u8 {
        self.byte().unwrap_or(0)
    }

    pub fn bytes(&mut self) -> &'a [u8] {
        let len = usize::from(self.small()).min(self.0.len());
        let (bytes, rest) = self.0.split_at(len);
        self.0 = rest;
        bytes
    }
}
