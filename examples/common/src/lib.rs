//! Common parts of the examples: options, the connection of two processes, and tables.

mod exchange;
mod launch;
mod options;
mod table;

pub use exchange::{Exchange, LOST};
pub use launch::{Launch, Meeting, SharedGather, exit_code, run};
pub use options::Common;
pub use table::render;
