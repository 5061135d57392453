//! Bytes of a command that outlive its future.

use std::fmt;
use std::ops::Deref;
use std::ptr::NonNull;

use stable_deref_trait::{CloneStableDeref, StableDeref};
use urom_abi::DocaError;
use urom_abi::shared::SharedCommand;

use crate::{Result, bail};

/// Bytes of a command, kept by [`Context::hold`](crate::Context::hold) until the last clone is
/// dropped. The command's whole block stays on the C heap until then, even after the plugin was
/// closed. A clone increments a count. The bytes neither move nor change ([`StableDeref`]): UCX may
/// read them in place, through `ucx::Stable`. It stays on the worker's thread.
///
/// ```
/// use std::cell::RefCell;
/// use urom_pdk::Held;
/// use urom_pdk::prelude::*;
///
/// /// A handler that keeps the last payload it was sent, without a copy of it.
/// struct Keeping {
///     last: RefCell<Option<Held>>,
/// }
///
/// impl Keeping {
///     async fn keep(&self, cx: &Context, payload: &[u8]) -> Result<usize> {
///         let held = cx.hold(payload)?;
///         let length = held.len();
///         self.last.replace(Some(held));
///         Ok(length)
///     }
/// }
/// ```
#[derive(Clone)]
pub struct Held {
    start: NonNull<u8>,
    len: usize,
    _command: SharedCommand,
}

impl Held {
    #[inline]
    pub(crate) fn new(command: &SharedCommand, bytes: &[u8]) -> Result<Held> {
        let whole = command.payload();
        // Sliced from the command's bytes: `bytes` may be foreign and lie directly behind them.
        let offset = bytes.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        let part = match bytes.len() {
            0 => Some(&[][..]),
            len => whole.get(offset..).and_then(|rest| rest.get(..len)),
        };
        let Some(part) = part else {
            let len = bytes.len();
            bail!(
                DocaError::INVALID_VALUE,
                "the {len} bytes to hold are not part of this command: copy other bytes"
            );
        };
        let (start, len) = (NonNull::from(part).cast(), part.len());
        Ok(Held { start, len, _command: command.clone() })
    }
}

impl Deref for Held {
    type Target = [u8];

    #[inline]
    fn deref(&self) -> &[u8] {
        // SAFETY: the bytes are in the command's block, which is kept and not written, or empty.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

// SAFETY: the bytes are on the C heap and do not move; `deref` reads constant fields.
unsafe impl StableDeref for Held {}
// SAFETY: a clone has the same fields.
unsafe impl CloneStableDeref for Held {}

impl AsRef<[u8]> for Held {
    fn as_ref(&self) -> &[u8] {
        self
    }
}

impl fmt::Debug for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Held({} bytes)", self.len)
    }
}

#[cfg(test)]
mod tests {
    use urom_abi::descriptor::CommandDesc;

    use super::*;
    use crate::Context;

    fn context(bytes: &[u8]) -> Context {
        Context::for_test(CommandDesc::new(7, 2, 99, bytes).expect("the C heap has space"))
    }

    #[test]
    fn every_part_of_a_command_can_be_held_the_whole_of_it_too() {
        let cx = context(b"bytes");
        let whole = cx.command().payload();
        for start in 0..=5 {
            for end in start..=5 {
                assert_eq!(*cx.hold(&whole[start..end]).unwrap(), whole[start..end]);
            }
        }
    }

    #[test]
    fn no_bytes_are_held_wherever_they_come_from() {
        let cx = context(b"");
        for empty in [cx.command().payload(), &[], &b"elsewhere"[3..3]] {
            assert!(cx.hold(empty).unwrap().is_empty());
        }
        let held = context(b"command").hold(&[]).unwrap();
        assert!(held.is_empty());
    }

    #[test]
    fn bytes_of_others_are_refused() {
        let cx = context(b"command");
        let other = context(b"command");
        let mut copy = cx.command().payload().to_vec();
        copy.push(0);
        for foreign in [&copy[..7], other.command().payload(), b"command", &[7; 5000]] {
            let error = cx.hold(foreign).unwrap_err();
            assert_eq!(error.code(), DocaError::INVALID_VALUE);
            assert!(error.to_string().contains(&format!("{} bytes", foreign.len())), "{error}");
        }
    }
}
