//! The conditions and lengths of payloads that can be computed without the definition they stand
//! in.

use urom_abi::describe::{Comparison, Term};

/// What an expression may name.
pub(super) trait Names {
    /// The integer or the `bool` at a path like `params.len`.
    fn field(&self, path: &str) -> Option<i128>;
    /// The value of a constant by its path, as the definition has it.
    fn constant(&self, path: &str) -> Option<i128>;
    /// How many elements a payload has.
    fn len(&self, payload: &str) -> Option<i128>;
}

/// What a term comes to; `None` when what it names has no such value.
pub(super) fn number(term: &Term, names: &impl Names) -> Option<i128> {
    match *term {
        Term::Number(number) => Some(number),
        Term::Field(path) => names.field(path),
        Term::Length(payload) => names.len(payload),
        Term::Constant(name) => names.constant(name),
    }
}

/// Whether a comparison holds; `None` when it cannot be computed.
pub(super) fn holds(of: &Comparison, names: &impl Names) -> Option<bool> {
    Some(of.sign.holds(number(&of.left, names)?, number(&of.right, names)?))
}
