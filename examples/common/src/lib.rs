//! What the examples have in common and what says nothing about UROM: options, the
//! meeting of two processes, and the table of results.

mod exchange;
mod launch;
mod options;
mod table;

pub use exchange::{Exchange, LOST};
pub use launch::{Launch, Meeting, SharedGather, run};
pub use options::Common;
pub use table::render;
