//! What the examples have in common and what says nothing about UROM: options, the table of
//! results, and how a failure reads.

mod failure;
mod options;
mod table;

pub use failure::explain;
pub use options::Common;
pub use table::render;
