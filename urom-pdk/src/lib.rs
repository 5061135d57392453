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
pub use urom_pdk_derive::urom_plugin;

/// What nearly every plugin uses: `use urom_pdk::prelude::*;`.
pub mod prelude {
    pub use crate::{Context, DocaError, Error, OpenContext, Result, urom_plugin};
}

/// What generated code calls. Not for anyone else: it changes without notice.
#[doc(hidden)]
pub mod __private {
    pub use urom_abi::DocaError;
    pub use urom_abi::plugin::{GetIfaceFn, GetVersionFn, PluginIface};
    pub use urom_abi::protocol::Serve;

    pub use crate::iface::{get_iface, get_version};
}
