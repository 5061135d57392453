//! Write DOCA UROM worker plugins in Rust.
pub mod log;

mod error;
mod executor;
mod guard;
mod iface;
mod side;
mod slot;

pub use error::{Error, Result};
pub use side::{Context, OpenContext, Side};
pub use urom_abi::DocaError;

/// What generated code calls. Not for anyone else: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use crate::iface::{get_iface, get_version};
}
