//! Quantities in log lines and errors.

use std::fmt;

/// A number with a noun, as in `1 worker` and `2 workers`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantity<'a>(pub usize, pub &'a str);

impl fmt::Display for Quantity<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Quantity(number, name) = self;
        write!(f, "{number} {name}{}", if *number == 1 { "" } else { "s" })
    }
}
