//! Which fields a notification repeats, so that a command that echoes others does not compile.

use crate::hash::Hash;
use crate::protocol::Reply;

/// All echoed fields of one notification. `#[urom_notification]` implements it.
pub trait Echo: Copy + 'static {
    /// Their names, each as [`echo_name`] makes a number of it.
    const NAMES: &'static [u64];

    /// Those of a command that holds zeros.
    fn zero() -> Self;
}

/// A notification that echoes nothing.
impl Echo for () {
    const NAMES: &'static [u64] = &[];

    fn zero() -> Self {}
}

/// What a command names as its answer: a variant of the enum of notifications `Of`. `#[urom_notification]` implements it for
/// the structure of each, and for nothing else, so that rustc lists those there are.
///
/// Generated code goes through it wherever it names the answer, so that every mention of a type that is none gives the
/// same error, which rustc reports once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no notification of this protocol, so it cannot answer a command",
    label = "no variant of `{Of}`"
)]
pub trait Answer<Of> {
    /// The type itself.
    type This: Reply<Echo = Self::Echo>;
    /// Its echoed fields.
    type Echo: Echo;
}

/// A notification's echoed fields that have one of this name.
#[diagnostic::on_unimplemented(
    message = "the notification that answers does not echo this field",
    label = "no echoed field of this name in `{Self}`",
    note = "mark the notification's field of the same name `#[urom(echo)]`, or remove `echo` here"
)]
pub trait Echoes<const NAME: u64> {
    /// The field's type.
    type Value;

    /// Sets the field.
    fn set(&mut self, value: Self::Value);
}

/// A field's name as a number.
pub const fn echo_name(name: &str) -> u64 {
    Hash::new().text(name).value()
}

/// Whether a command that echoes the fields `given` has all those that its answer echoes.
///
/// ```
/// use urom_abi::wire::{echo_name, echoes_all};
/// const NAMES: [u64; 2] = [echo_name("context"), echo_name("cookie")];
/// assert!(echoes_all(&NAMES[1..], &NAMES) && !echoes_all(&NAMES, &NAMES[1..]));
/// ```
pub const fn echoes_all(echoed: &[u64], given: &[u64]) -> bool {
    let mut i = 0;
    while i < echoed.len() {
        let mut at = 0;
        while at < given.len() && given[at] != echoed[i] {
            at += 1;
        }
        if at == given.len() {
            return false;
        }
        i += 1;
    }
    true
}
