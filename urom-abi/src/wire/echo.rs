//! Which fields a notification repeats, so that a command that echoes others does not compile.

use super::Fingerprint;

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
    Fingerprint::new().text(name).value()
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
