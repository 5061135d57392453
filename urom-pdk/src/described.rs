//! The description in a plugin's file: see [`urom_abi::describe::section`].

use std::hint;

use urom_abi::describe;
use urom_abi::describe::section::{Build, Panic};
use urom_abi::protocol::Protocol;

/// Returns the description of the function's protocol.
#[must_use]
pub const fn protocol<P: Protocol>(_: fn() -> P) -> &'static describe::Protocol {
    P::DESCRIPTION
}

/// Returns the build description; `aborts` is the panic strategy of the plugin's crate.
#[must_use]
pub const fn build(aborts: bool) -> Build {
    Build {
        kit: env!("CARGO_PKG_VERSION"),
        panic: if aborts { Panic::Abort } else { Panic::Unwind },
    }
}

/// Keeps a description in the file. The linker drops unreferenced sections, and `#[used]` binds
/// only the compiler. So an exported function, which the linker keeps, calls this.
#[inline]
pub fn keep(description: &'static [u8]) {
    hint::black_box(description);
}
