//! What a plugin's file says of itself: see [`urom_abi::describe::section`].

use std::hint;

use urom_abi::describe;
use urom_abi::describe::section::{Build, Panic};
use urom_abi::protocol::Protocol;

/// The description of a protocol that only the result of a function names.
#[must_use]
pub const fn protocol<P: Protocol>(_: fn() -> P) -> &'static describe::Protocol {
    P::DESCRIPTION
}

/// How the plugin is built; `aborts` is the panic strategy of its own crate.
#[must_use]
pub const fn build(aborts: bool) -> Build {
    Build {
        kit: env!("CARGO_PKG_VERSION"),
        panic: if aborts { Panic::Abort } else { Panic::Unwind },
    }
}

/// Keeps a description in the file.
///
/// The linker collects sections that nothing refers to, and `#[used]` binds the compiler only. So
/// an exported function, which the linker keeps, refers to the description by calling this.
#[inline]
pub fn keep(description: &'static [u8]) {
    hint::black_box(description);
}
