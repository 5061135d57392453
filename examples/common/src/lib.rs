//! What the examples have in common and what says nothing about UROM: options and the table of
//! results.

mod options;
mod table;

pub use options::Common;
pub use table::render;
